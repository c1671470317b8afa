-- The use of devices by tasks (adr/0355): a row for each device of an ended task.
-- uu_utilisation: 0 to 1, the mean over uu_measured seconds; uu_memory: bytes; uu_energy: J; NULL where nothing is known.
-- uu_shared: 1 if another task had the device as well, and the figures are of all of them.

CREATE TABLE sge_unit_usage (
    uu_id integer PRIMARY KEY,
    uu_parent integer REFERENCES sge_job (j_id),
    uu_start_time timestamp with time zone,
    uu_end_time timestamp with time zone,
    uu_hostname text,
    uu_resource text,
    uu_unit text,
    uu_identifier text,
    uu_seconds double precision,
    uu_measured double precision,
    uu_utilisation double precision,
    uu_memory double precision,
    uu_energy double precision,
    uu_shared integer
);
CREATE INDEX sge_unit_usage_idx0 ON sge_unit_usage (uu_parent);
CREATE INDEX sge_unit_usage_idx1 ON sge_unit_usage (uu_end_time);

CREATE VIEW view_unit_usage AS
SELECT j_job_number AS job_number, j_task_number AS task_number, j_pe_taskid AS pe_taskid, j_job_name AS name,
       j_group AS "group", j_owner AS username, j_account AS account, j_project AS project, j_department AS department,
       j_submission_time AS submission_time, uu_start_time AS start_time, uu_end_time AS end_time, uu_hostname AS hostname,
       uu_resource AS resource, uu_unit AS unit, uu_identifier AS identifier, uu_seconds AS seconds, uu_measured AS measured, uu_utilisation AS utilisation, uu_memory AS memory,
       uu_energy AS energy, uu_shared AS shared
FROM sge_job JOIN sge_unit_usage ON j_id = uu_parent;
