// fact: field_types
// columns: measurement, field, data_type
// cost: reads a block of each series and field
// grant: read on the bucket
// versions: 2.0 and later, Cloud
// link: https://docs.influxdata.com/flux/v0/stdlib/universe/first/
// Used where InfluxQL does not reach the bucket. Flux shows one type of a field only: it cannot show a conflict.
from(bucket: {{ database | text }})
    |> range({% include "_always.flux" %})
    |> first()
    |> keep(columns: ["_measurement", "_field", "_value"])
    |> limit(n: 1)
