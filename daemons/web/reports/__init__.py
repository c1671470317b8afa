"""Reports: figures of periods from the accounting file, for pages, the REST API and a monthly mail. Source: adr/0305."""
