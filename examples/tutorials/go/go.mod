module bakery

go 1.19
