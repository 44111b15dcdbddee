-- VOLATILE: the query sees the rows that were committed before the call. A statement that locks the account and then calls
-- this function therefore counts the devices that another transaction added until the lock was free. A subquery would see
-- the rows as they were when the statement began.
CREATE FUNCTION "deviceCount"(UUID) RETURNS INTEGER LANGUAGE sql VOLATILE
    AS 'SELECT count(*)::integer FROM "PushDevice" WHERE "accountId" = $1';
