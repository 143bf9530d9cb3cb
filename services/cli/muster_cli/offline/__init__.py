"""Answers from dump files alone: nothing has to run."""
