-- Advance reservations, version 5 (6.2). Source: DB-2 … DB-11; seed 002, appendix 2.

CREATE TABLE sge_ar (
    ar_id integer PRIMARY KEY,
    ar_number integer,
    ar_owner text,
    ar_submission_time timestamp with time zone
);
CREATE INDEX sge_ar_idx0 ON sge_ar (ar_number);
CREATE INDEX sge_ar_idx1 ON sge_ar (ar_owner);

CREATE TABLE sge_ar_attribute (
    ara_id integer PRIMARY KEY,
    ara_parent integer REFERENCES sge_ar (ar_id),
    ara_curr_time timestamp with time zone,
    ara_name text,
    ara_account text,
    ara_start_time timestamp with time zone,
    ara_end_time timestamp with time zone,
    ara_granted_pe text
);
CREATE INDEX sge_ar_attribute_idx0 ON sge_ar_attribute (ara_end_time);

CREATE TABLE sge_ar_usage (
    aru_id integer PRIMARY KEY,
    aru_parent integer REFERENCES sge_ar (ar_id),
    aru_termination_time timestamp with time zone,
    aru_qname text,
    aru_hostname text,
    aru_slots integer
);

CREATE TABLE sge_ar_log (
    arl_id integer PRIMARY KEY,
    arl_parent integer REFERENCES sge_ar (ar_id),
    arl_time timestamp with time zone,
    arl_event text,
    arl_state text,
    arl_host text,
    arl_message text
);
CREATE INDEX sge_ar_log_idx0 ON sge_ar_log (arl_event);

CREATE TABLE sge_ar_resource_usage (
    arru_id integer PRIMARY KEY,
    arru_parent integer REFERENCES sge_ar (ar_id),
    arru_variable text,
    arru_value text
);

ALTER TABLE sge_job_usage ADD COLUMN ju_ar_number integer DEFAULT 0;
CREATE INDEX sge_job_usage_idx1 ON sge_job_usage (ju_ar_number);

DROP VIEW view_job_times;
DROP VIEW view_accounting;

CREATE VIEW view_accounting AS
SELECT j_job_number AS job_number, j_task_number AS task_number, j_pe_taskid AS pe_taskid, j_job_name AS name,
       j_group AS "group", j_owner AS username, j_account AS account, j_project AS project, j_department AS department,
       j_submission_time AS submission_time, ju_ar_number AS ar_number, ju_start_time AS start_time, ju_end_time AS end_time,
       ju_start_time - j_submission_time AS wait_time, ju_end_time - j_submission_time AS turnaround_time,
       ju_end_time - ju_start_time AS job_duration,
       ju_ru_wallclock AS wallclock_time, ju_cpu AS cpu, ju_mem AS mem, ju_io AS io, ju_iow AS iow, ju_maxvmem AS maxvmem
FROM sge_job JOIN sge_job_usage ON j_id = ju_parent
WHERE j_submission_time > '1970-01-02' AND ju_start_time >= j_submission_time;

-- a record of a running job (exit status -1) counts for its usage, not as a job
CREATE VIEW view_job_times AS
SELECT j_job_number AS job_number, j_task_number AS task_number, j_pe_taskid AS pe_taskid, j_job_name AS name,
       j_group AS "group", j_owner AS username, j_account AS account, j_project AS project, j_department AS department,
       j_submission_time AS submission_time, ju_ar_number AS ar_number, ju_start_time AS start_time, ju_end_time AS end_time,
       ju_start_time - j_submission_time AS wait_time, ju_end_time - j_submission_time AS turnaround_time,
       ju_end_time - ju_start_time AS job_duration,
       ju_ru_wallclock AS wallclock_time, ju_cpu AS cpu, ju_mem AS mem, ju_io AS io, ju_iow AS iow, ju_maxvmem AS maxvmem
FROM sge_job JOIN sge_job_usage ON j_id = ju_parent
WHERE j_submission_time > '1970-01-02' AND ju_start_time >= j_submission_time AND j_pe_taskid = 'NONE' AND ju_exit_status <> -1;

CREATE VIEW view_ar_attribute AS
SELECT ar_number AS ar_number, ar_owner AS owner, ar_submission_time AS submission_time, ara_name AS name,
       ara_account AS account, ara_start_time AS start_time, ara_end_time AS end_time, ara_granted_pe AS granted_pe
FROM sge_ar JOIN sge_ar_attribute ON ar_id = ara_parent;

CREATE VIEW view_ar_log AS
SELECT ar_number AS ar_number, arl_time AS time, arl_event AS event, arl_state AS state, arl_message AS message
FROM sge_ar JOIN sge_ar_log ON ar_id = arl_parent;

CREATE VIEW view_ar_usage AS
SELECT ar_number AS ar_number, aru_termination_time AS termination_time, aru_qname AS queue, aru_hostname AS hostname,
       aru_slots AS slots
FROM sge_ar JOIN sge_ar_usage ON ar_id = aru_parent;

CREATE VIEW view_ar_resource_usage AS
SELECT ar_number AS ar_number, arru_variable AS variable, arru_value AS value
FROM sge_ar JOIN sge_ar_resource_usage ON ar_id = arru_parent;

-- the newest attributes of a changed reservation count; a reservation without jobs has no usage
CREATE VIEW view_ar_time_usage AS
SELECT ar_number AS ar_number,
       coalesce((SELECT sum(extract(epoch FROM ju_end_time - ju_start_time)) FROM sge_job JOIN sge_job_usage ON j_id = ju_parent
                 WHERE ju_ar_number = ar_number AND j_pe_taskid = 'NONE' AND ju_start_time >= ar_submission_time), 0)
           * interval '1 second' AS job_duration,
       ara_end_time - ara_start_time AS ar_duration
FROM sge_ar JOIN sge_ar_attribute ON ar_id = ara_parent
WHERE ara_id = (SELECT max(newest.ara_id) FROM sge_ar_attribute newest WHERE newest.ara_parent = ar_id);
