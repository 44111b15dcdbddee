-- CreateIndex
CREATE INDEX "Account_unverified_idx" ON "Account"("id") WHERE (("emailVerifiedAt" IS NULL) AND ("unverifiedExpiresAt" IS NULL));
