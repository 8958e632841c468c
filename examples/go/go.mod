module toolnexus/examples/go

go 1.24

require toolnexus/bindings/go v0.0.0

require github.com/google/jsonschema-go v0.4.3 // indirect

replace toolnexus/bindings/go => ../../bindings/go
