// fact: database_series
// columns: series, counts_fields
// cost: index only, as no shard is cut by the range; with a range that ends now, the newest shard is read
// grant: read on the bucket
// versions: OSS 2.0.9 and later, Cloud
// link: https://docs.influxdata.com/flux/v0/stdlib/influxdata/influxdb/cardinality/
// InfluxDB Cloud counts each field of a tag set as a series, OSS does not.
import "influxdata/influxdb"

influxdb.cardinality(bucket: {{ database | text }}, {% include "_always.flux" %})
