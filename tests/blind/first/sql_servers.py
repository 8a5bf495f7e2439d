"""PostgreSQL databases of public programs: columns, keys, and indexes as their schemas have them, rows made up."""

from __future__ import annotations

from typing import Final

from tests.blind.expected import BlindDatabase, Cause, Expected, Grade
from tests.layouts.layout import Script

NOW: Final = "timestamptz '2026-03-31 06:00:00+00'"


def _chirpstack() -> Script:
    """200 devices of a LoRaWAN network, each an uplink every ten minutes, for two days."""
    device = """time timestamp with time zone not null, tenant_id uuid not null, tenant_name text not null,
        application_id uuid not null, application_name text not null, device_profile_id uuid not null,
        device_profile_name text not null, device_name text not null, dev_eui char(16) not null, tags jsonb not null"""
    values = """md5('tenant')::uuid, 'City of Example', md5('app' || d % 4)::uuid,
        (ARRAY['parking', 'air quality', 'waste', 'street lights'])[1 + d % 4], md5('profile' || d % 4)::uuid,
        (ARRAY['Parking OTAA EU868', 'Air OTAA EU868', 'Bin OTAA EU868', 'Lamp ABP EU868'])[1 + d % 4], 'node-' || d,
        '70b3d57ed00' || lpad(to_hex(d), 5, '0'), jsonb_build_object('street', 'Street ' || d / 5, 'district', 'D' ||
            d % 9,
            'installer', 'Example Networks Ltd', 'contract', '4500' || 10000 + d % 3, 'installed', '2024-0' || 1 + d %
                9)"""
    uplinks = "generate_series(1, 288) k, generate_series(1, 200) d"
    ack = "queue_item_id uuid primary key"
    once = "deduplication_id uuid primary key"
    return Script(
        (
            f"""CREATE TABLE event_up ({once}, {device}, dev_addr char(8) not null, adr boolean not null,
                dr smallint not null, f_cnt bigint not null, f_port smallint not null, confirmed boolean not null,
                data bytea not null, object jsonb not null, rx_info jsonb not null, tx_info jsonb not null)""",
            f"CREATE TABLE event_join ({once}, {device}, dev_addr char(8) not null)",
            f"""CREATE TABLE event_ack ({ack}, deduplication_id uuid not null, {device}, acknowledged boolean not null,
                f_cnt_down bigint not null)""",
            f"""CREATE TABLE event_tx_ack ({ack}, downlink_id bigint not null, {device}, f_cnt_down bigint not null,
                gateway_id char(16) not null, tx_info jsonb not null)""",
            f"""CREATE TABLE event_log (id bigserial primary key, {device}, level text not null, code text not null,
                description text not null, context jsonb not null)""",
            f"""CREATE TABLE event_status ({once}, {device}, margin smallint not null,
                external_power_source boolean not null, battery_level_unavailable boolean not null,
                battery_level real not null)""",
            f"""CREATE TABLE event_location ({once}, {device}, latitude double precision not null,
                longitude double precision not null, altitude double precision not null, source text not null,
                accuracy real not null)""",
            f"""CREATE TABLE event_integration ({once}, {device}, integration_name text not null,
                event_type text not null, object jsonb not null)""",
            f"""INSERT INTO event_up
                SELECT md5('up' || k || '-' || d)::uuid, {NOW} - (288 - k) * interval '10 minutes'
                        - d * interval '2.9 seconds', {values}, lpad(to_hex(19005440 + d), 8, '0'), true, 5 - (k + d)
                            % 6,
                    4000 + k, 2, false, decode(md5('data' || k * d), 'hex'),
                    jsonb_build_object('temperature', (150 + (k * 31 + d) % 120) / 10.0, 'battery', 3.6 - d % 7 / 10.0),
                    jsonb_build_array(jsonb_build_object('rssi', -60 - (k * 7 + d * 13) % 60, 'snr', (k * d) % 20 - 8.5,
                        'uplinkId', k * 7919 + d, 'gatewayId', '00800000a00' || lpad((d % 12)::text, 5, '0'))),
                    jsonb_build_object('frequency', 867100000 + (k * 5 + d) % 8 * 200000, 'modulation',
                        jsonb_build_object(
                        'lora', jsonb_build_object('bandwidth', 125000, 'spreadingFactor', 7 + (k + d) % 6,
                            'codeRate', 'CR_4_5')))
                FROM {uplinks} ORDER BY k, d DESC""",
            f"""INSERT INTO event_join
                SELECT md5('join' || d)::uuid, {NOW} - interval '2 days' - d * interval '5 seconds', {values},
                    lpad(to_hex(19005440 + d), 8, '0')
                FROM generate_series(1, 200) d""",
            f"""INSERT INTO event_status
                SELECT md5('status' || k || '-' || d)::uuid, {NOW} - (288 - k) * interval '10 minutes'
                    - d * interval '3 seconds', {values}, 5 + d % 20, false, false, 60 + d % 40
                FROM {uplinks} WHERE k % 144 = 0 ORDER BY k, d DESC""",
        ),
        then=("SELECT pg_stat_force_next_flush()", "ANALYZE event_up, event_join, event_status"),
    )


def _thingsboard() -> Script:
    """20 pulse meters, one value every 15 minutes; the partition of March was never made, so all of it is in the
    default.
    """
    return Script(
        (
            """CREATE TABLE ts_kv (
                entity_id uuid NOT NULL, key int NOT NULL, ts bigint NOT NULL, bool_v boolean,
                str_v varchar(10000000), long_v bigint, dbl_v double precision, json_v json,
                CONSTRAINT ts_kv_pkey PRIMARY KEY (entity_id, key, ts)) PARTITION BY RANGE (ts)""",
            "CREATE TABLE ts_kv_indefinite PARTITION OF ts_kv DEFAULT",
            "CREATE TABLE ts_kv_2026_01 PARTITION OF ts_kv FOR VALUES FROM (1767225600000) TO (1769904000000)",
            "CREATE TABLE ts_kv_2026_02 PARTITION OF ts_kv FOR VALUES FROM (1769904000000) TO (1772323200000)",
            """CREATE TABLE ts_kv_dictionary (key varchar(255) NOT NULL, key_id serial UNIQUE,
                CONSTRAINT ts_key_id_pkey PRIMARY KEY (key))""",
            """CREATE TABLE ts_kv_latest (
                entity_id uuid NOT NULL, key int NOT NULL, ts bigint NOT NULL, bool_v boolean,
                str_v varchar(10000000), long_v bigint, dbl_v double precision, json_v json,
                CONSTRAINT ts_kv_latest_pkey PRIMARY KEY (entity_id, key))""",
            "INSERT INTO ts_kv_dictionary (key) VALUES ('pulseCounter'), ('waterVolume')",
            """INSERT INTO ts_kv (entity_id, key, ts, long_v, dbl_v)
                SELECT md5('meter' || m)::uuid, 1 + m % 2, 1774936770000 - (8544 - q) * 900000::bigint + m * 1371,
                    CASE WHEN m % 2 = 0 THEN 4000 + q * (3 + m) + q * 7 % 5 END,
                    CASE WHEN m % 2 = 1 THEN round((120.5 + q * 0.013 * (1 + m))::numeric, 3)::float8 END
                FROM generate_series(1, 8544) q, generate_series(0, 19) m ORDER BY q, m""",
            """INSERT INTO ts_kv_latest SELECT DISTINCT ON (entity_id, key) * FROM ts_kv
                ORDER BY entity_id, key, ts DESC""",
        ),
        then=("SELECT pg_stat_force_next_flush()", "ANALYZE ts_kv, ts_kv_dictionary, ts_kv_latest"),
    )


def _rsyslog() -> Script:
    """40 hosts, 50,000 messages a day for four days; a log viewer asks for the last hour each minute or so."""
    rows = 200_000
    views = """DO $$ BEGIN
        FOR n IN 1..30 LOOP
            PERFORM count(*), max(id) FROM systemevents
            WHERE receivedat >= timestamp '2026-03-31 05:00:00' AND priority <= 4;
        END LOOP;
    END $$"""
    return Script(
        (
            """CREATE TABLE SystemEvents (
                ID serial not null primary key, CustomerID bigint, ReceivedAt timestamp without time zone NULL,
                DeviceReportedTime timestamp without time zone NULL, Facility smallint NULL, Priority smallint NULL,
                FromHost varchar(63) NULL, Message text, NTSeverity int NULL, Importance int NULL,
                EventSource varchar(60), EventUser varchar(60) NULL, EventCategory int NULL, EventID int NULL,
                EventBinaryData text NULL, MaxAvailable int NULL, CurrUsage int NULL, MinUsage int NULL,
                MaxUsage int NULL, InfoUnitID int NULL, SysLogTag varchar(60), EventLogType varchar(60),
                GenericFileName VarChar(60), SystemID int NULL)""",
            """CREATE TABLE SystemEventsProperties (ID serial not null primary key, SystemEventID int NULL,
                ParamName varchar(255) NULL, ParamValue text NULL)""",
            f"""INSERT INTO SystemEvents
                    (ReceivedAt, DeviceReportedTime, Facility, Priority, FromHost, Message, InfoUnitID, SysLogTag)
                SELECT r, date_trunc('second', r - i * 7919 % 4 * interval '1 second'),
                    (ARRAY[10, 10, 9, 0])[1 + i % 4], (ARRAY[6, 6, 5, 6, 4, 6, 3])[1 + i * 31 % 7],
                    'web' || lpad(((i / 11 * 7 + i) % 40)::text, 2, '0'),
                    (ARRAY[' Accepted publickey for deploy from 192.0.2.' || i % 250 || ' port ' || 30000 + i % 20000
                                || ' ssh2: ED25519 SHA256:' || substr(md5(i::text), 1, 24),
                           ' pam_unix(cron:session): session opened for user root(uid=0) by (uid=0)',
                           ' (root) CMD (test -x /usr/sbin/anacron || run-parts --report /etc/cron.hourly)',
                           ' [UFW BLOCK] IN=eth0 OUT= SRC=198.51.100.' || i % 250 || ' LEN=40 TTL=' || i % 64
                                || ' PROTO=TCP SPT=' || 1024 + i * 13 % 60000 || ' DPT=23 WINDOW=1024 SYN'])[1 + i % 4],
                    1, (ARRAY['sshd[', 'CRON[', 'CRON[', 'kernel['])[1 + i % 4] || 400 + i * 17 % 90000 || ']:'
                FROM (SELECT i, timestamp '2026-03-31 06:00:00' - ({rows} - i) * interval '1.728 seconds' AS r
                    FROM generate_series(1, {rows}) i) made""",
        ),
        then=(
            "SET max_parallel_workers_per_gather = 0",
            "SELECT pg_stat_force_next_flush()",
            "ANALYZE systemevents, systemeventsproperties",
            views,
            "SELECT pg_stat_force_next_flush()",
        ),
    )


def _edgex() -> Script:
    """12 machines, each an event of eight readings a minute, for 24 hours."""
    return Script(
        (
            """CREATE TABLE device_info (
                id SERIAL PRIMARY KEY, devicename TEXT, profilename TEXT, sourcename TEXT, tags JSONB,
                resourcename TEXT, valuetype TEXT DEFAULT '', units TEXT DEFAULT '', mediatype TEXT DEFAULT '',
                mark_deleted BOOLEAN DEFAULT false)""",
            "CREATE INDEX idx_device_info_device_resource ON device_info (mark_deleted, devicename, resourcename)",
            "CREATE TABLE event (id UUID, origin BIGINT, device_info_id SERIAL)",
            "CREATE INDEX idx_event_origin ON event (origin)",
            "CREATE INDEX idx_event_device_info_id ON event (device_info_id)",
            """CREATE TABLE reading (
                event_id UUID, device_info_id SERIAL, origin BIGINT, value TEXT, binaryvalue BYTEA, objectvalue JSONB,
                numeric_value NUMERIC)""",
            "CREATE INDEX idx_reading_origin ON reading (origin)",
            "CREATE INDEX idx_reading_event_id ON reading (event_id)",
            "CREATE INDEX idx_reading_device_info_id ON reading (device_info_id)",
            "CREATE INDEX idx_reading_device_info_origin ON reading (device_info_id, origin DESC)",
            """INSERT INTO device_info (devicename, profilename, sourcename, tags, resourcename, valuetype, units)
                SELECT 'press-' || d, 'HydraulicPress', 'AllSensors', '{"hall": "H2"}'::jsonb, r.name, r.type, r.units
                FROM generate_series(1, 12) d, (VALUES
                    (1, 'OilTemperature', 'Float64', 'degC'), (2, 'OilPressure', 'Float64', 'bar'),
                    (3, 'RamPosition', 'Float64', 'mm'), (4, 'RamSpeed', 'Float64', 'mm/s'),
                    (5, 'MotorCurrent', 'Float64', 'A'), (6, 'StrokeCount', 'Int64', ''),
                    (7, 'DoorClosed', 'Bool', ''), (8, 'State', 'String', '')) r (n, name, type, units)
                ORDER BY d, r.n""",
            """INSERT INTO event (id, origin, device_info_id)
                SELECT md5('event' || m || '-' || d)::uuid,
                    (1774936800 - (1440 - m) * 60 + d * 2) * 1000000000::bigint + d * 104729, (d - 1) * 8 + 1
                FROM generate_series(1, 1440) m, generate_series(1, 12) d ORDER BY m, d""",
            """INSERT INTO reading (event_id, device_info_id, origin, value, numeric_value)
                SELECT id, device_info_id + r, origin,
                    CASE WHEN r < 5 THEN trim(to_char(v, '9.000000EEEE')) WHEN r = 5 THEN (origin / 60000000000)::text
                        WHEN r = 6 THEN (ARRAY['true', 'true', 'false'])[1 + (origin / 60000000000 % 3)::int]
                        ELSE (ARRAY['RUNNING', 'IDLE', 'SETUP'])[1 + (origin / 3600000000000 % 3)::int] END,
                    CASE WHEN r < 5 THEN v WHEN r = 5 THEN origin / 60000000000 END
                FROM (SELECT *, round((10 * (r + 2) + 3 * sin(origin / 1.7e12 + r))::numeric, 4) AS v
                    FROM event, generate_series(0, 7) r) made
                ORDER BY origin, device_info_id, r""",
        ),
        then=("SELECT pg_stat_force_next_flush()", "ANALYZE device_info, event, reading"),
    )


def _amavis() -> Script:
    """1,800 mails a day; a nightly job deletes what is older than 21 days, and vacuum of the two tables is off."""
    start = f"{NOW} - interval '31 days'"
    return Script(
        (
            """CREATE TABLE maddr (
                partition_tag integer DEFAULT 0, id serial PRIMARY KEY, email bytea NOT NULL,
                domain varchar(255) NOT NULL, CONSTRAINT part_email UNIQUE (partition_tag, email))""",
            """CREATE TABLE msgs (
                partition_tag integer DEFAULT 0, mail_id bytea NOT NULL, secret_id bytea DEFAULT '',
                am_id varchar(20) NOT NULL, time_num integer NOT NULL CHECK (time_num >= 0),
                time_iso timestamp WITH TIME ZONE NOT NULL, sid integer NOT NULL CHECK (sid >= 0),
                policy varchar(255) DEFAULT '', client_addr varchar(255) DEFAULT '',
                size integer NOT NULL CHECK (size >= 0), originating char(1) DEFAULT ' ' NOT NULL, content char(1),
                quar_type char(1), quar_loc varchar(255) DEFAULT '', dsn_sent char(1), spam_level real,
                message_id varchar(255) DEFAULT '', from_addr varchar(255) DEFAULT '',
                subject varchar(255) DEFAULT '', host varchar(255) NOT NULL,
                CONSTRAINT msgs_partition_mail UNIQUE (partition_tag, mail_id),
                PRIMARY KEY (partition_tag, mail_id)) WITH (autovacuum_enabled = false)""",
            "CREATE INDEX msgs_idx_sid ON msgs (sid)",
            "CREATE INDEX msgs_idx_mess_id ON msgs (message_id)",
            "CREATE INDEX msgs_idx_time_iso ON msgs (time_iso)",
            "CREATE INDEX msgs_idx_time_num ON msgs (time_num)",
            """CREATE TABLE msgrcpt (
                partition_tag integer DEFAULT 0, mail_id bytea NOT NULL, rseqnum integer DEFAULT 0 NOT NULL,
                rid integer NOT NULL, is_local char(1) DEFAULT ' ' NOT NULL, content char(1) DEFAULT ' ' NOT NULL,
                ds char(1) NOT NULL, rs char(1) NOT NULL, bl char(1) DEFAULT ' ', wl char(1) DEFAULT ' ',
                bspam_level real, smtp_resp varchar(255) DEFAULT '',
                CONSTRAINT msgrcpt_partition_mail_rseq UNIQUE (partition_tag, mail_id, rseqnum),
                PRIMARY KEY (partition_tag, mail_id, rseqnum)) WITH (autovacuum_enabled = false)""",
            "CREATE INDEX msgrcpt_idx_mail_id ON msgrcpt (mail_id)",
            "CREATE INDEX msgrcpt_idx_rid ON msgrcpt (rid)",
            """CREATE TABLE quarantine (
                partition_tag integer DEFAULT 0, mail_id bytea NOT NULL,
                chunk_ind integer NOT NULL CHECK (chunk_ind >= 0), mail_text bytea NOT NULL,
                PRIMARY KEY (partition_tag, mail_id, chunk_ind))""",
            """INSERT INTO maddr (email, domain)
                SELECT ('user' || n || '@example' || n % 60 || '.net')::bytea, 'net.example' || n % 60
                FROM generate_series(1, 600) n""",
            f"""INSERT INTO msgs
                SELECT 0, substr(md5('mail' || i), 1, 12)::bytea, substr(md5('secret' || i), 1, 12)::bytea,
                    lpad((i * 7 % 99999)::text, 5, '0') || '-' || lpad((i % 20)::text, 2, '0'),
                    extract(epoch FROM t)::integer, t, 1 + i * 31 % 600, '', '192.0.2.' || i % 250,
                    1200 + i * 7919 % 60000, CASE WHEN i % 4 = 0 THEN 'Y' ELSE ' ' END,
                    (ARRAY['C', 'C', 'C', 'S', 'Y', 'C', 'B'])[1 + i % 7], CASE WHEN i % 300 = 0 THEN 'Q' END, '', 'N',
                    round((i * 13 % 170 / 10.0 - 4)::numeric, 3)::real,
                    '<' || md5('id' || i) || '@example' || i % 60 || '.net>',
                    'user' || i * 31 % 600 || '@example' || i % 60 || '.net',
                    (ARRAY['Re: Order 4711-', 'Invoice ', 'Minutes of meeting ', 'Your parcel 1Z999AA1'])[1 + i % 4]
                        || i * 17 % 90000, 'mx1.example.org'
                FROM (SELECT i, {start} + i * interval '48 seconds' AS t FROM generate_series(1, 55800) i) made""",
            """INSERT INTO msgrcpt
                SELECT 0, mail_id, 1, 1 + time_num % 500, 'Y', content, 'P', ' ', 'N', 'N', spam_level,
                    '250 2.0.0 from MTA(smtp:[127.0.0.1]:10025): 250 2.0.0 Ok: queued as '
                        || upper(substr(md5(message_id), 1, 10))
                FROM msgs ORDER BY time_num""",
            """INSERT INTO quarantine SELECT 0, mail_id, 1, repeat(md5(message_id), 60)::bytea FROM msgs
                WHERE quar_type = 'Q' AND time_iso >= timestamptz '2026-03-10 06:00:00+00'""",
        ),
        then=(
            f"""DELETE FROM msgrcpt USING msgs WHERE msgs.mail_id = msgrcpt.mail_id
                AND time_iso < {NOW} - interval '21 days'""",
            f"DELETE FROM msgs WHERE time_iso < {NOW} - interval '21 days'",
            "SELECT pg_stat_force_next_flush()",
            "ANALYZE maddr, msgs, msgrcpt, quarantine",
        ),
    )


def _freeradius() -> Script:
    """2,000 sessions a day of a campus network, for 30 days."""
    return Script(
        (
            """CREATE TABLE radacct (
                RadAcctId bigserial PRIMARY KEY, AcctSessionId text NOT NULL, AcctUniqueId text NOT NULL UNIQUE,
                UserName text, Realm text, NASIPAddress inet NOT NULL, NASPortId text, NASPortType text,
                AcctStartTime timestamp with time zone, AcctUpdateTime timestamp with time zone,
                AcctStopTime timestamp with time zone, AcctInterval bigint, AcctSessionTime bigint,
                AcctAuthentic text, ConnectInfo_start text, ConnectInfo_stop text, AcctInputOctets bigint,
                AcctOutputOctets bigint, CalledStationId text, CallingStationId text, AcctTerminateCause text,
                ServiceType text, FramedProtocol text, FramedIPAddress inet, FramedIPv6Address inet,
                FramedIPv6Prefix inet, FramedInterfaceId text, DelegatedIPv6Prefix inet, Class text)""",
            "CREATE INDEX radacct_active_session_idx ON radacct (AcctUniqueId) WHERE AcctStopTime IS NULL",
            "CREATE INDEX radacct_bulk_close ON radacct (NASIPAddress, AcctStartTime) WHERE AcctStopTime IS NULL",
            "CREATE INDEX radacct_bulk_timeout ON radacct (AcctStopTime NULLS FIRST, AcctUpdateTime)",
            "CREATE INDEX radacct_start_user_idx ON radacct (AcctStartTime, UserName)",
            "CREATE INDEX radacct_calss_idx ON radacct (Class)",
            """CREATE TABLE radcheck (
                id serial PRIMARY KEY, UserName text NOT NULL DEFAULT '', Attribute text NOT NULL DEFAULT '',
                op VARCHAR(2) NOT NULL DEFAULT '==', Value text NOT NULL DEFAULT '')""",
            "CREATE INDEX radcheck_UserName ON radcheck (UserName, Attribute)",
            """CREATE TABLE radpostauth (
                id bigserial PRIMARY KEY, username text NOT NULL, pass text, reply text, CalledStationId text,
                CallingStationId text, authdate timestamp with time zone NOT NULL default now(), Class text)""",
            """CREATE TABLE nas (
                id serial PRIMARY KEY, nasname text NOT NULL, shortname text NOT NULL,
                type text NOT NULL DEFAULT 'other', ports integer, secret text NOT NULL, server text, community text,
                description text, require_ma text NOT NULL DEFAULT 'auto', limit_proxy_state text NOT NULL
                DEFAULT 'auto')""",
            "CREATE INDEX nas_nasname ON nas (nasname)",
            """INSERT INTO nas (nasname, shortname, secret)
                SELECT '10.20.0.' || n, 'ap-controller-' || n, md5('nas' || n) FROM generate_series(1, 12) n""",
            """INSERT INTO radcheck (UserName, Attribute, op, Value)
                SELECT 'u' || 100000 + n, 'NT-Password', ':=', upper(md5('pw' || n)) FROM generate_series(1, 2500) n""",
            f"""INSERT INTO radacct (AcctSessionId, AcctUniqueId, UserName, NASIPAddress, NASPortId, NASPortType,
                    AcctStartTime, AcctUpdateTime, AcctStopTime, AcctInterval, AcctSessionTime, AcctAuthentic,
                    ConnectInfo_start, ConnectInfo_stop, AcctInputOctets, AcctOutputOctets, CalledStationId,
                    CallingStationId, AcctTerminateCause, ServiceType, FramedProtocol, FramedIPAddress, Class)
                SELECT upper(lpad(to_hex(2147483648 + i), 8, '0')), md5('session' || i), 'u' || 100001 + u,
                    ('10.20.0.' || 1 + i % 12)::inet, (50331648 + i % 400)::text, 'Wireless-802.11', t,
                    least(t + length, {NOW}), CASE WHEN t + length < {NOW} THEN t + length END, 600,
                    extract(epoch FROM length), 'RADIUS', 'CONNECT 54Mbps 802.11n', '', i * 7919 % 900000000,
                    i::bigint * 104729 % 2100000000, '00-1A-1E-00-' || lpad((i % 90)::text, 2, '0') || '-40:eduroam',
                    upper(substr(md5('mac' || u), 1, 2) || '-B3-D5-' || lpad((u % 97)::text, 2, '0') || '-7C-1'
                        || u % 10), CASE WHEN t + length < {NOW} THEN (ARRAY['User-Request', 'Idle-Timeout',
                        'Lost-Carrier'])[1 + i % 3] END, 'Framed-User', '',
                    ('172.20.' || u % 250 || '.' || i / 7 % 250)::inet, NULL
                FROM (SELECT i, i * 31 % 2500 AS u, {NOW} - (60000 - i) * interval '43.2 seconds' AS t,
                        (300 + i * 7919 % 14000) * interval '1 second' AS length
                    FROM generate_series(1, 60000) i) made""",
            f"""INSERT INTO radpostauth (username, pass, reply, CallingStationId, authdate)
                SELECT 'u' || 100001 + i * 31 % 2500, '', CASE WHEN i % 19 = 0 THEN 'Access-Reject'
                        ELSE 'Access-Accept' END, upper(substr(md5('mac' || i * 31 % 2500), 1, 2)) || '-B3-D5-11-7C-10',
                    {NOW} - (62000 - i) * interval '41.8 seconds'
                FROM generate_series(1, 62000) i""",
        ),
        then=("SELECT pg_stat_force_next_flush()", "VACUUM ANALYZE radacct, radcheck, radpostauth, nas"),
    )


def _metasfresh() -> Script:
    """The audit log of an ERP: 750 changed values a day for 60 days."""
    return Script(
        (
            """CREATE TABLE AD_Session (
                AD_Session_ID numeric(10,0) NOT NULL, AD_Client_ID numeric(10,0) NOT NULL,
                AD_Org_ID numeric(10,0) NOT NULL, IsActive character(1) DEFAULT 'Y' NOT NULL,
                Created timestamp with time zone DEFAULT now() NOT NULL, CreatedBy numeric(10,0) NOT NULL,
                Updated timestamp with time zone DEFAULT now() NOT NULL, UpdatedBy numeric(10,0) NOT NULL,
                WebSession character varying(40), Remote_Addr character varying(60),
                Remote_Host character varying(120), Processed character(1) DEFAULT 'N' NOT NULL,
                CONSTRAINT AD_Session_Key PRIMARY KEY (AD_Session_ID))""",
            """CREATE TABLE AD_ChangeLog (
                AD_ChangeLog_ID numeric(10,0) NOT NULL, AD_Session_ID numeric(10,0) NOT NULL,
                AD_Table_ID numeric(10,0) NOT NULL, AD_Column_ID numeric(10,0) NOT NULL,
                AD_Client_ID numeric(10,0) NOT NULL, AD_Org_ID numeric(10,0) NOT NULL,
                IsActive character(1) DEFAULT 'Y' NOT NULL, Created timestamp with time zone DEFAULT now() NOT NULL,
                CreatedBy numeric(10,0) NOT NULL, Updated timestamp with time zone DEFAULT now() NOT NULL,
                UpdatedBy numeric(10,0) NOT NULL, Record_ID numeric(10,0) NOT NULL, OldValue character varying(2000),
                NewValue character varying(2000), Undo character(1), Redo character(1),
                IsCustomization character(1) DEFAULT 'N' NOT NULL, TrxName character varying(60),
                Description character varying(255), EventChangeLog character(1),
                CONSTRAINT AD_ChangeLog_Key PRIMARY KEY (AD_ChangeLog_ID, AD_Session_ID, AD_Table_ID, AD_Column_ID),
                CHECK (IsActive IN ('Y', 'N')))""",
            "CREATE INDEX ad_changelog_record_id_ad_table_id ON ad_changelog USING btree (record_id, ad_table_id)",
            "CREATE INDEX ad_changelog_ad_table_id ON ad_changelog USING btree (ad_table_id)",
            f"""INSERT INTO AD_Session (AD_Session_ID, AD_Client_ID, AD_Org_ID, Created, CreatedBy, Updated, UpdatedBy,
                    WebSession, Remote_Addr, Remote_Host, Processed)
                SELECT 1000000 + n, 1000000, 0, t, 100 + n % 25, t, 100 + n % 25, upper(md5('web' || n)),
                    '10.1.2.' || n % 25, NULL, 'Y'
                FROM (SELECT n, {NOW} - (1800 - n) * interval '48 minutes' AS t
                    FROM generate_series(1, 1800) n) made""",
            f"""INSERT INTO AD_ChangeLog (AD_ChangeLog_ID, AD_Session_ID, AD_Table_ID, AD_Column_ID, AD_Client_ID,
                    AD_Org_ID, Created, CreatedBy, Updated, UpdatedBy, Record_ID, OldValue, NewValue, TrxName,
                    EventChangeLog)
                SELECT 5000000 + i, 1000001 + i / 25, (ARRAY[259, 260, 291, 318])[1 + i % 4], 2161 + i % 60, 1000000,
                    1000001, t, 100 + i % 25, t, 100 + i % 25, 1000000 + i / 3,
                    CASE WHEN i % 5 > 0 THEN v[1 + (i + 1) % 6] END, v[1 + i % 6],
                    'POSave_' || substr(md5('trx' || i / 6), 1, 8) || '-' || substr(md5('t' || i / 6), 1, 4),
                    CASE WHEN i % 5 > 0 THEN 'U' ELSE 'I' END
                FROM (SELECT i, {NOW} - (45000 - i) * interval '115.2 seconds' AS t,
                        ARRAY[(i * 13 % 9000 / 100.0)::text, '2026-03-' || 10 + i % 20 || ' 00:00:00', 'Y',
                            '+49 30 1234' || 100 + i % 900, '1Z999AA1012' || 3456784 + i, 'Net 30 days'] AS v
                    FROM generate_series(1, 45000) i) made""",
        ),
        then=("SELECT pg_stat_force_next_flush()", "VACUUM ANALYZE ad_session, ad_changelog"),
    )


def _ejabberd() -> Script:
    """The message archive of a chat server: 1,500 messages a day for 20 days."""
    host = "chat.example.org"
    return Script(
        (
            """CREATE TABLE last (username text NOT NULL, server_host text NOT NULL, seconds text NOT NULL,
                state text NOT NULL, PRIMARY KEY (server_host, username))""",
            """CREATE TABLE spool (username text NOT NULL, server_host text NOT NULL, xml text NOT NULL, seq SERIAL,
                created_at TIMESTAMP NOT NULL DEFAULT now())""",
            "CREATE INDEX i_spool_sh_username ON spool USING btree (server_host, username)",
            """CREATE TABLE archive (
                username text NOT NULL, server_host text NOT NULL, timestamp BIGINT NOT NULL, peer text NOT NULL,
                bare_peer text NOT NULL, xml text NOT NULL, txt text, id SERIAL, kind text, nick text,
                created_at TIMESTAMP NOT NULL DEFAULT now())""",
            "CREATE INDEX i_archive_sh_username_timestamp ON archive USING btree (server_host, username, timestamp)",
            "CREATE INDEX i_archive_sh_username_peer ON archive USING btree (server_host, username, peer)",
            "CREATE INDEX i_archive_sh_username_bare_peer ON archive USING btree (server_host, username, bare_peer)",
            "CREATE INDEX i_archive_sh_timestamp ON archive USING btree (server_host, timestamp)",
            """CREATE TABLE archive_prefs (
                username text NOT NULL, server_host text NOT NULL, def text NOT NULL, always text NOT NULL,
                never text NOT NULL, created_at TIMESTAMP NOT NULL DEFAULT now(),
                PRIMARY KEY (server_host, username))""",
            f"""INSERT INTO last SELECT 'person' || n, '{host}', (1774936800 - n * 7919 % 900000)::text, ''
                FROM generate_series(1, 300) n""",
            f"""INSERT INTO spool (username, server_host, xml, created_at)
                SELECT 'person' || n, '{host}', '<message type="chat"><body>' || md5('off' || n) || '</body></message>',
                    timestamp '2026-03-31 06:00:00' - (200 - n) * interval '7 minutes'
                FROM generate_series(1, 200) n""",
            f"""INSERT INTO archive
                    (username, server_host, timestamp, peer, bare_peer, xml, txt, kind, nick, created_at)
                SELECT 'person' || 1 + i * 31 % 300, '{host}',
                    extract(epoch FROM t)::bigint * 1000000 + i * 7919 % 1000000,
                    p || '/phone.' || i % 9, p, '<message to="' || p || '" id="' || md5('m' || i)
                        || '" type="chat" xmlns="jabber:client"><body>' || b || '</body>'
                        || '<request xmlns="urn:xmpp:receipts"/><active xmlns="http://jabber.org/protocol/chatstates"/>'
                        || '</message>', b, 'chat', '', t
                FROM (SELECT i, timestamp '2026-03-31 06:00:00' - (30000 - i) * interval '57.6 seconds' AS t,
                        'person' || 1 + i / 7 * 17 % 300 || '@{host}' AS p,
                        repeat('call me at 555 01' || i % 90 || ' about ' || i * 13 % 5000 || '. ', 1 + i % 3) AS b
                    FROM generate_series(1, 30000) i) made""",
        ),
        then=("SELECT pg_stat_force_next_flush()", "VACUUM ANALYZE last, spool, archive, archive_prefs"),
    )


DATABASES: Final = (
    BlindDatabase(
        "chirpstack-events",
        "postgresql",
        "https://www.chirpstack.io/docs/chirpstack/integrations/postgresql.html",
        _chirpstack,
        (
            Expected(
                Cause.REPEATED_BYTES,
                "event_up.tags",
                Grade.HARMFUL,
                "the tags of a device in each of its uplinks: 135 B for each of 28,800 rows a day, 1.4 GB in a year, "
                "18 % of the table",
            ),
            Expected(
                Cause.REPEATED_BYTES,
                "event_up.tx_info",
                Grade.HARMFUL,
                "24 different documents in all rows: 160 B for each of 28,800 rows a day, 1.7 GB in a year, 21 % of "
                "the table",
            ),
            Expected(
                Cause.REPEATED_BYTES,
                "event_up.*_name",
                Grade.HARMLESS,
                "names of tenant, application, and profile beside their IDs: 8 to 20 B each, below 3 % of the table "
                "each",
            ),
            Expected(
                Cause.DEPENDENT_TAG,
                "event_*.*",
                Grade.HARMLESS,
                "tenant, application, profile, and name follow from dev_eui",
            ),
            Expected(
                Cause.NO_INDEX,
                "event_up*",
                Grade.HARMLESS,
                "no index on time or dev_eui: 57,600 rows are read in 20 ms, and nobody has queried them yet",
            ),
            Expected(
                Cause.RETENTION,
                "event_up",
                Grade.HARMLESS,
                "nothing removes uplinks: about 8 GB in a year, with no known disk limit",
            ),
        ),
    ),
    BlindDatabase(
        "thingsboard-meters",
        "postgresql",
        "https://github.com/thingsboard/thingsboard/blob/master/dao/src/main/resources/sql/schema-ts-psql.sql",
        _thingsboard,
        (
            Expected(
                Cause.PARTITIONS,
                "ts_kv*",
                Grade.HARMFUL,
                "the last partition ended on 1 March: all 58,080 rows since (34 %) are in the default partition, so "
                "that of March can no longer be made, and dropping old months will never remove them",
            ),
            Expected(
                Cause.SPARSE,
                "ts_kv*.*",
                Grade.HARMLESS,
                "one of five typed value columns is set in each row; the empty ones cost a bit each",
            ),
        ),
    ),
    BlindDatabase(
        "rsyslog-systemevents",
        "postgresql",
        "https://github.com/rsyslog/rsyslog/blob/main/plugins/ompgsql/createDB.sql",
        _rsyslog,
        (
            Expected(
                Cause.NO_INDEX,
                "systemevents*",
                Grade.HARMFUL,
                "no index on receivedat: 30 views of the last hour read all 200,000 rows each, 6 million, to find "
                "2,000; the table grows by 50,000 rows a day",
            ),
            Expected(
                Cause.SPARSE,
                "systemevents.*",
                Grade.HARMLESS,
                "15 columns for Windows events are empty in every row, at a bit each",
            ),
            Expected(
                Cause.RETENTION,
                "systemevents",
                Grade.HARMLESS,
                "nothing removes messages: about 4 GB in a year, with no known disk limit",
            ),
            Expected(
                Cause.COMPOSITE,
                "systemevents.syslogtag",
                Grade.HARMLESS,
                "program and process number in one text; a log viewer shows it so",
            ),
        ),
    ),
    BlindDatabase(
        "edgex-core-data",
        "postgresql",
        "https://github.com/edgexfoundry/edgex-go/tree/main/internal/core/data/embed/sql",
        _edgex,
        (
            Expected(
                Cause.INDEX,
                "idx_reading_device_info_id",
                Grade.HARMFUL,
                "(device_info_id) repeats the start of idx_reading_device_info_origin: 11 B for each of 138,240 "
                "rows a day, 580 MB in a year, 14 % of the table and 6 % of it with its indexes",
            ),
            Expected(
                Cause.ROWS_LAYOUT,
                "reading",
                Grade.HARMFUL,
                "eight rows of 160 B or more with their indexes for what one event measures, where one row of 200 B "
                "would do: 6 times the bytes or more, 7 GB in a year",
            ),
            Expected(
                Cause.NUMBER_AS_TEXT,
                "reading.value",
                Grade.HARMLESS,
                "text holds booleans and states, too, and numeric_value has the numbers",
            ),
            Expected(
                Cause.SPARSE,
                "reading.*",
                Grade.HARMLESS,
                "binaryvalue and objectvalue are empty in every row, at a bit each",
            ),
            Expected(
                Cause.RETENTION,
                "reading",
                Grade.HARMLESS,
                "nothing removes readings: about 8 GB in a year, with no known disk limit",
            ),
        ),
    ),
    BlindDatabase(
        "amavis-mail-log",
        "postgresql",
        "https://gitlab.com/amavis/amavis/-/blob/master/README_FILES/README.sql-pg",
        _amavis,
        (
            Expected(
                Cause.DEAD_ROWS,
                "msgs",
                Grade.HARMFUL,
                "autovacuum is off and no vacuum has run: 18,000 deleted rows beside 37,800 live ones (32 %), 1,800 "
                "more each night, 290 MB with their index entries in a year",
            ),
            Expected(
                Cause.DEAD_ROWS,
                "msgrcpt",
                Grade.HARMLESS,
                "the same 18,000 dead rows, 4 MB or more; without a time column, what they cost in a year is not known",
            ),
            Expected(
                Cause.INDEX,
                "msgs_partition_mail",
                Grade.HARMLESS,
                "the same columns as the primary key, about 51 B for each of 1,800 rows a day: 34 MB a year",
            ),
            Expected(
                Cause.INDEX,
                "msgrcpt_partition_mail_rseq",
                Grade.HARMLESS,
                "the same columns as the primary key: a few MB now",
            ),
            Expected(
                Cause.DEPENDENT_TAG,
                "*.partition_tag",
                Grade.HARMLESS,
                "always 0, because no partition by week is configured",
            ),
        ),
    ),
    BlindDatabase(
        "freeradius-accounting",
        "postgresql",
        "https://github.com/FreeRADIUS/freeradius-server/blob/v3.2.x/raddb/mods-config/sql/main/postgresql/schema.sql",
        _freeradius,
        (
            Expected(
                Cause.NUMBER_AS_TEXT,
                "radacct.*",
                Grade.HARMLESS,
                "session and port numbers are codes; nobody calculates with them",
            ),
            Expected(
                Cause.SPARSE,
                "rad*.*",
                Grade.HARMLESS,
                "IPv6 columns, realm, and class are empty, at a bit each",
            ),
            Expected(
                Cause.INDEX,
                "radacct_calss_idx",
                Grade.HARMLESS,
                "on a column that is always empty: 7 B for each of 2,000 rows a day, 5 MB in a year",
            ),
            Expected(
                Cause.RETENTION,
                "rad*",
                Grade.HARMLESS,
                "nothing removes sessions or log-ins: below 1 GB in a year",
            ),
        ),
        quiet=True,
    ),
    BlindDatabase(
        "metasfresh-change-log",
        "postgresql",
        "https://github.com/metasfresh/metasfresh/tree/master/backend/de.metas.adempiere.adempiere/migration",
        _metasfresh,
        (
            Expected(
                Cause.NUMBER_AS_TEXT,
                "ad_changelog.*value",
                Grade.HARMLESS,
                "what stood in any column before and after: numbers, dates, phone and tracking numbers, words",
            ),
            Expected(
                Cause.SPARSE,
                "ad_changelog.*",
                Grade.HARMLESS,
                "undo, redo, and description are empty, at a bit each",
            ),
        ),
        quiet=True,
    ),
    BlindDatabase(
        "ejabberd-archive",
        "postgresql",
        "https://github.com/processone/ejabberd/blob/master/sql/pg.new.sql",
        _ejabberd,
        (
            Expected(
                Cause.DEPENDENT_TAG,
                "*.server_host",
                Grade.HARMLESS,
                "one host in every row and four indexes: 85 B for each of 1,500 rows a day, 47 MB in a year",
            ),
            Expected(
                Cause.NUMBER_AS_TEXT,
                "last.seconds",
                Grade.HARMLESS,
                "a time as text in a table of one row for each user",
            ),
            Expected(
                Cause.RETENTION,
                "archive",
                Grade.HARMLESS,
                "nothing removes messages: below 1 GB in a year, and people want their history",
            ),
        ),
        quiet=True,
    ),
)
