// fact: tag_keys
// columns: measurement, tag
// cost: index only; a statement per measurement
// grant: read on the bucket
// versions: 2.0 and later, Cloud
// link: https://docs.influxdata.com/flux/v0/stdlib/influxdata/influxdb/schema/measurementtagkeys/
// Used where InfluxQL does not reach the bucket.
from(bucket: {{ database | text }})
    |> range({% include "_always.flux" %})
    |> filter(fn: (r) => r._measurement == {{ measurement | text }})
    |> keys()
    |> keep(columns: ["_value"])
    |> distinct()
