import BatchCore

print(PathBytes("batchproc"))
