"""A user's own cluster (Ray, Dask) in a parallel job: submitted here, built on the job's hosts, removed with the job."""
