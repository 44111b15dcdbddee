-- Every webhook event looks App User IDs up. With fastupdate each lookup also reads all entries since the last vacuum, in
-- no order (PostgreSQL, "GIN Fast Update Technique"): 3 ms after 6,000 events, compared with 0.01 ms.
ALTER INDEX "BillingEvent_appUserIds_idx" SET (fastupdate = off);
ALTER INDEX "BillingEvent_identity_changes_idx" SET (fastupdate = off);
ALTER INDEX "Purchase_appUserIds_idx" SET (fastupdate = off);

SELECT gin_clean_pending_list('"BillingEvent_appUserIds_idx"'),
  gin_clean_pending_list('"BillingEvent_identity_changes_idx"'),
  gin_clean_pending_list('"Purchase_appUserIds_idx"');
