module example.com/fiscal-gateway

go 1.19
