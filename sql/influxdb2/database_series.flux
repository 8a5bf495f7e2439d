// fact: database_series
// columns: series, counts_fields
// cost: index only, 5 to 24 ms for 200,000 series; a range that cuts a shard, as one up to now does, makes it 3.6 s and more
// grant: read on the bucket
// versions: OSS 2.0.9 and later, Cloud
// link: https://docs.influxdata.com/flux/v0/stdlib/influxdata/influxdb/cardinality/
// InfluxDB Cloud counts each field of a tag set as a series, OSS does not.
import "influxdata/influxdb"

influxdb.cardinality(bucket: {{ database | text }}, {% include "_always.flux" %})
