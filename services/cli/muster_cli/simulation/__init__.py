"""What stands for the rest of Kubernetes on a simulated cluster: the scheduler that binds the pods of offered gangs."""
