-- CreateIndex
CREATE INDEX "Account_disabled_idx" ON "Account"("id") WHERE ("disabledAt" IS NOT NULL);

-- CreateIndex
CREATE INDEX "Account_email_unverified_idx" ON "Account"("id") WHERE ("emailVerifiedAt" IS NULL);

-- CreateIndex
-- Comparisons by bytes find prefixes, whatever the database's collation is.
CREATE INDEX "Account_email_prefix_idx" ON "Account"("email" COLLATE "C");

-- CreateIndex
-- Written by hand: Prisma has no indexes of expressions. The whole name, all but its first word, and its last word.
CREATE INDEX "Account_name_prefix_idx" ON "Account"(lower("name") COLLATE "C", "id");
CREATE INDEX "Account_later_names_prefix_idx" ON "Account"(lower(substr("name", strpos("name", ' ') + 1)) COLLATE "C", "id")
  WHERE strpos("name", ' ') > 0;
CREATE INDEX "Account_last_name_prefix_idx" ON "Account"(lower(substring("name" FROM '[^ ]+$')) COLLATE "C", "id")
  WHERE strpos("name", ' ') > 0;
