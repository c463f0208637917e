#!/bin/sh
# The user of the gateways, made when the database is begun. `gatewayctl fleet init` gives its role what it may do.
set -eu
psql --username postgres --dbname robots --set ON_ERROR_STOP=1 --set password="$(cat /run/secrets/fleet.password)" <<'SQL'
CREATE ROLE robots_gateway_member NOLOGIN;
CREATE ROLE gateway LOGIN PASSWORD :'password' IN ROLE robots_gateway_member;
SQL
