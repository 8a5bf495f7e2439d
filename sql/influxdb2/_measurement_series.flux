import "influxdata/influxdb"

influxdb.cardinality(
    bucket: {{ database | text }},
    {% include "_always.flux" %},
    predicate: (r) => r._measurement == {{ measurement | text }},
)
