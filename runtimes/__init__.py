"""What runs on the cluster: training and serving runtimes, and the images of the steps."""
