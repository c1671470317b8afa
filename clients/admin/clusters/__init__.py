"""A cluster of a user's own (Ray, Dask) made of a parallel job: submitted here, built on its hosts, gone with the job."""
