-- CreateIndex
CREATE INDEX "FirstOperatorLink_expiresAt_idx" ON "FirstOperatorLink"("expiresAt");
