"""What a pipeline author picks from: a folder a family, a file a component."""
