"""Translations: protobuf and Kubernetes JSON on one side, the domain on the other."""
