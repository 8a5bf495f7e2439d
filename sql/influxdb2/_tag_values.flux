// The same for a bucket that InfluxQL does not reach: what schema.measurementTagValues does, answered from the index.
from(bucket: {{ database | text }})
    |> range({% include "_always.flux" %})
    |> filter(fn: (r) => r._measurement == {{ measurement | text }})
    |> keep(columns: [{{ tag | text }}])
    |> group()
    |> distinct(column: {{ tag | text }})
    |> limit(n: {{ limit }})
