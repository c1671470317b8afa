-- The tables and views of the database before advance reservations, version 4 (6.1).
-- Source: DB-1, DB-9, DB-10; names and columns as ARCo of 8.1.9 has them. Times carry their zone (adr/0130).

CREATE TABLE sge_version (v_id integer PRIMARY KEY, v_version text, v_time timestamp with time zone);

CREATE TABLE sge_job (
    j_id integer PRIMARY KEY,
    j_job_number integer,
    j_task_number integer,
    j_pe_taskid text,
    j_job_name text,
    j_group text,
    j_owner text,
    j_account text,
    j_priority integer,
    j_submission_time timestamp with time zone,
    j_project text,
    j_department text
);
CREATE INDEX sge_job_idx0 ON sge_job (j_job_number, j_task_number, j_pe_taskid);
CREATE INDEX sge_job_idx1 ON sge_job (j_submission_time);
CREATE INDEX sge_job_idx2 ON sge_job (j_owner);

CREATE TABLE sge_job_usage (
    ju_id integer PRIMARY KEY,
    ju_parent integer REFERENCES sge_job (j_id),
    ju_curr_time timestamp with time zone,
    ju_qname text,
    ju_hostname text,
    ju_start_time timestamp with time zone,
    ju_end_time timestamp with time zone,
    ju_failed integer,
    ju_exit_status integer,
    ju_granted_pe text,
    ju_slots integer,
    ju_ru_wallclock double precision,
    ju_ru_utime double precision,
    ju_ru_stime double precision,
    ju_ru_maxrss double precision,
    ju_ru_ixrss double precision,
    ju_ru_ismrss double precision,
    ju_ru_idrss double precision,
    ju_ru_isrss double precision,
    ju_ru_minflt double precision,
    ju_ru_majflt double precision,
    ju_ru_nswap double precision,
    ju_ru_inblock double precision,
    ju_ru_oublock double precision,
    ju_ru_msgsnd double precision,
    ju_ru_msgrcv double precision,
    ju_ru_nsignals double precision,
    ju_ru_nvcsw double precision,
    ju_ru_nivcsw double precision,
    ju_cpu double precision,
    ju_mem double precision,
    ju_io double precision,
    ju_iow double precision,
    ju_maxvmem double precision
);
CREATE INDEX sge_job_usage_idx0 ON sge_job_usage (ju_end_time, ju_hostname);
CREATE INDEX sge_job_usage_idx2 ON sge_job_usage (ju_parent);

CREATE TABLE sge_job_request (
    jr_id integer PRIMARY KEY,
    jr_parent integer REFERENCES sge_job (j_id),
    jr_variable text,
    jr_value text
);
CREATE INDEX sge_job_request_idx0 ON sge_job_request (jr_parent);

CREATE TABLE sge_job_log (
    jl_id integer PRIMARY KEY,
    jl_parent integer REFERENCES sge_job (j_id),
    jl_time timestamp with time zone,
    jl_event text,
    jl_state text,
    jl_user text,
    jl_host text,
    jl_state_time integer,
    jl_message text
);
CREATE INDEX sge_job_log_idx0 ON sge_job_log (jl_parent);
CREATE INDEX sge_job_log_idx1 ON sge_job_log (jl_time);

CREATE TABLE sge_share_log (
    sl_id integer PRIMARY KEY,
    sl_curr_time timestamp with time zone,
    sl_usage_time timestamp with time zone,
    sl_node text,
    sl_user text,
    sl_project text,
    sl_shares integer,
    sl_job_count integer,
    sl_level double precision,
    sl_total double precision,
    sl_long_target_share double precision,
    sl_short_target_share double precision,
    sl_actual_share double precision,
    sl_usage double precision,
    sl_cpu double precision,
    sl_mem double precision,
    sl_io double precision,
    sl_ltcpu double precision,
    sl_ltmem double precision,
    sl_ltio double precision
);

CREATE TABLE sge_host (h_id integer PRIMARY KEY, h_hostname text);
CREATE INDEX sge_host_idx0 ON sge_host (h_hostname);
CREATE TABLE sge_host_values (
    hv_id integer PRIMARY KEY,
    hv_parent integer REFERENCES sge_host (h_id),
    hv_time_start timestamp with time zone,
    hv_time_end timestamp with time zone,
    hv_variable text,
    hv_svalue text,
    hv_dvalue double precision,
    hv_dconfig double precision
);
CREATE INDEX sge_host_values_idx0 ON sge_host_values (hv_parent, hv_variable, hv_time_end);

CREATE TABLE sge_queue (q_id integer PRIMARY KEY, q_qname text, q_hostname text);
CREATE INDEX sge_queue_idx0 ON sge_queue (q_qname, q_hostname);
CREATE TABLE sge_queue_values (
    qv_id integer PRIMARY KEY,
    qv_parent integer REFERENCES sge_queue (q_id),
    qv_time_start timestamp with time zone,
    qv_time_end timestamp with time zone,
    qv_variable text,
    qv_svalue text,
    qv_dvalue double precision,
    qv_dconfig double precision
);
CREATE INDEX sge_queue_values_idx0 ON sge_queue_values (qv_parent, qv_variable, qv_time_end);

CREATE TABLE sge_user (u_id integer PRIMARY KEY, u_user text);
CREATE INDEX sge_user_idx0 ON sge_user (u_user);
CREATE TABLE sge_user_values (
    uv_id integer PRIMARY KEY,
    uv_parent integer REFERENCES sge_user (u_id),
    uv_time_start timestamp with time zone,
    uv_time_end timestamp with time zone,
    uv_variable text,
    uv_svalue text,
    uv_dvalue double precision,
    uv_dconfig double precision
);
CREATE INDEX sge_user_values_idx0 ON sge_user_values (uv_parent, uv_variable, uv_time_end);

CREATE TABLE sge_group (g_id integer PRIMARY KEY, g_group text);
CREATE INDEX sge_group_idx0 ON sge_group (g_group);
CREATE TABLE sge_group_values (
    gv_id integer PRIMARY KEY,
    gv_parent integer REFERENCES sge_group (g_id),
    gv_time_start timestamp with time zone,
    gv_time_end timestamp with time zone,
    gv_variable text,
    gv_svalue text,
    gv_dvalue double precision,
    gv_dconfig double precision
);
CREATE INDEX sge_group_values_idx0 ON sge_group_values (gv_parent, gv_variable, gv_time_end);

CREATE TABLE sge_project (p_id integer PRIMARY KEY, p_project text);
CREATE INDEX sge_project_idx0 ON sge_project (p_project);
CREATE TABLE sge_project_values (
    pv_id integer PRIMARY KEY,
    pv_parent integer REFERENCES sge_project (p_id),
    pv_time_start timestamp with time zone,
    pv_time_end timestamp with time zone,
    pv_variable text,
    pv_svalue text,
    pv_dvalue double precision,
    pv_dconfig double precision
);
CREATE INDEX sge_project_values_idx0 ON sge_project_values (pv_parent, pv_variable, pv_time_end);

CREATE TABLE sge_department (d_id integer PRIMARY KEY, d_department text);
CREATE INDEX sge_department_idx0 ON sge_department (d_department);
CREATE TABLE sge_department_values (
    dv_id integer PRIMARY KEY,
    dv_parent integer REFERENCES sge_department (d_id),
    dv_time_start timestamp with time zone,
    dv_time_end timestamp with time zone,
    dv_variable text,
    dv_svalue text,
    dv_dvalue double precision,
    dv_dconfig double precision
);
CREATE INDEX sge_department_values_idx0 ON sge_department_values (dv_parent, dv_variable, dv_time_end);

CREATE TABLE sge_statistic (s_id integer PRIMARY KEY, s_name text);
CREATE TABLE sge_statistic_values (
    sv_id integer PRIMARY KEY,
    sv_parent integer REFERENCES sge_statistic (s_id),
    sv_time_start timestamp with time zone,
    sv_time_end timestamp with time zone,
    sv_variable text,
    sv_dvalue double precision
);
CREATE INDEX sge_statistic_values_idx0 ON sge_statistic_values (sv_parent, sv_variable, sv_time_end);

CREATE VIEW view_accounting AS
SELECT j_job_number AS job_number, j_task_number AS task_number, j_pe_taskid AS pe_taskid, j_job_name AS name,
       j_group AS "group", j_owner AS username, j_account AS account, j_project AS project, j_department AS department,
       j_submission_time AS submission_time, ju_start_time AS start_time, ju_end_time AS end_time,
       ju_start_time - j_submission_time AS wait_time, ju_end_time - j_submission_time AS turnaround_time,
       ju_ru_wallclock AS wallclock_time, ju_cpu AS cpu, ju_mem AS mem, ju_io AS io, ju_iow AS iow, ju_maxvmem AS maxvmem
FROM sge_job JOIN sge_job_usage ON j_id = ju_parent
WHERE j_submission_time > '1970-01-02' AND ju_start_time >= j_submission_time;

CREATE VIEW view_job_times AS SELECT * FROM view_accounting WHERE pe_taskid = 'NONE';

CREATE VIEW view_jobs_completed AS
SELECT date_trunc('hour', ju_end_time) AS time, count(*) AS completed
FROM sge_job JOIN sge_job_usage ON j_id = ju_parent
WHERE ju_end_time > '1970-01-02' AND j_pe_taskid = 'NONE' AND ju_exit_status <> -1
GROUP BY date_trunc('hour', ju_end_time);

CREATE VIEW view_job_log AS
SELECT j_job_number AS job_number, j_task_number AS task_number, j_pe_taskid AS pe_taskid, j_job_name AS name,
       j_group AS "group", j_owner AS username, j_account AS account, j_project AS project, j_department AS department,
       jl_time AS time, jl_event AS event, jl_state AS state, jl_user AS initiator, jl_host AS host, jl_message AS message
FROM sge_job JOIN sge_job_log ON j_id = jl_parent;

CREATE VIEW view_host_values AS
SELECT h_hostname AS hostname, hv_time_start AS time_start, hv_time_end AS time_end, hv_variable AS variable,
       hv_svalue AS str_value, hv_dvalue AS num_value, hv_dconfig AS num_config
FROM sge_host JOIN sge_host_values ON h_id = hv_parent;

CREATE VIEW view_queue_values AS
SELECT q_qname AS qname, q_hostname AS hostname, qv_time_start AS time_start, qv_time_end AS time_end,
       qv_variable AS variable, qv_svalue AS str_value, qv_dvalue AS num_value, qv_dconfig AS num_config
FROM sge_queue JOIN sge_queue_values ON q_id = qv_parent;

CREATE VIEW view_user_values AS
SELECT u_user AS username, uv_time_start AS time_start, uv_time_end AS time_end, uv_variable AS variable,
       uv_svalue AS str_value, uv_dvalue AS num_value, uv_dconfig AS num_config
FROM sge_user JOIN sge_user_values ON u_id = uv_parent;

CREATE VIEW view_group_values AS
SELECT g_group AS groupname, gv_time_start AS time_start, gv_time_end AS time_end, gv_variable AS variable,
       gv_svalue AS str_value, gv_dvalue AS num_value, gv_dconfig AS num_config
FROM sge_group JOIN sge_group_values ON g_id = gv_parent;

CREATE VIEW view_project_values AS
SELECT p_project AS project, pv_time_start AS time_start, pv_time_end AS time_end, pv_variable AS variable,
       pv_svalue AS str_value, pv_dvalue AS num_value, pv_dconfig AS num_config
FROM sge_project JOIN sge_project_values ON p_id = pv_parent;

CREATE VIEW view_department_values AS
SELECT d_department AS department, dv_time_start AS time_start, dv_time_end AS time_end, dv_variable AS variable,
       dv_svalue AS str_value, dv_dvalue AS num_value, dv_dconfig AS num_config
FROM sge_department JOIN sge_department_values ON d_id = dv_parent;

CREATE VIEW view_statistic AS
SELECT s_name AS name, sv_time_start AS time_start, sv_time_end AS time_end, sv_variable AS variable, sv_dvalue AS num_value
FROM sge_statistic JOIN sge_statistic_values ON s_id = sv_parent;
