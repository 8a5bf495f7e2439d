// fact: measurements
// columns: measurement
// cost: index only, 9 ms beside 200,000 series
// grant: read on the bucket
// versions: 2.0 and later, Cloud
// link: https://docs.influxdata.com/flux/v0/stdlib/influxdata/influxdb/schema/measurements/
// What schema.measurements() does, with a range of its own: the default of 30 days hides what was not written since.
from(bucket: {{ database | text }})
    |> range({% include "_always.flux" %})
    |> keep(columns: ["_measurement"])
    |> group()
    |> distinct(column: "_measurement")
