-- CreateIndex
CREATE INDEX "Account_unverified_idx" ON "Account"("createdAt") WHERE (("emailVerifiedAt" IS NULL) AND ("unverifiedExpiresAt" IS NULL));
