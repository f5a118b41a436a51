module example/auto-responder

go 1.21
