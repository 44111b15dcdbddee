-- CreateIndex
CREATE INDEX "AuditEvent_rare_type_idx" ON "AuditEvent"("type", "at") WHERE (type <> ALL (ARRAY['signed_in'::text, 'signed_out'::text, 'registered'::text]));

-- CreateIndex
CREATE INDEX "AuditEvent_actor_idx" ON "AuditEvent"("actor", "at") WHERE (actor <> 'account'::text);

-- CreateIndex
CREATE INDEX "AuditEvent_target_idx" ON "AuditEvent"("target", "at") WHERE (target IS NOT NULL);
