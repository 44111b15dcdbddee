-- CreateTable
CREATE TABLE "PushPreference" (
    "accountId" UUID NOT NULL,
    "mutedKinds" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "quietStartMinutes" SMALLINT,
    "quietEndMinutes" SMALLINT,
    "updatedAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "PushPreference_pkey" PRIMARY KEY ("accountId")
);

-- AddForeignKey
ALTER TABLE "PushPreference" ADD CONSTRAINT "PushPreference_accountId_fkey" FOREIGN KEY ("accountId") REFERENCES "Account"("id") ON DELETE CASCADE ON UPDATE CASCADE;
