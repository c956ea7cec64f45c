"""The figures of every example, and a script that compares what two builds write."""
