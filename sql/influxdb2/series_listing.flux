// fact: series_listing
// columns: one per tag, null where the tag is absent
// cost: reads a block of each series and field: 46 s for 200,000 series
// grant: read on the bucket
// versions: 2.0 and later, Cloud
// link: https://docs.influxdata.com/flux/v0/stdlib/universe/first/
// Used where InfluxQL does not reach the bucket. Of a field that has several types Flux reads one, and leaves out series
// that have another: the number is compared with the index, see _measurement_series.flux.
from(bucket: {{ database | text }})
    |> range({% include "_always.flux" %})
    |> filter(fn: (r) => r._measurement == {{ measurement | text }})
    |> first()
    |> keep(columns: ["_measurement"{% for tag in tags %}, {{ tag | text }}{% endfor %}])
    |> limit(n: 1)
    |> group()
