CREATE TABLE orders (
    id serial PRIMARY KEY,
    phone text NOT NULL,
    item text NOT NULL,
    quantity integer NOT NULL CHECK (quantity > 0),
    total_kes integer NOT NULL,
    status text NOT NULL DEFAULT 'placed' CHECK (status IN ('placed', 'cancelled'))
);
