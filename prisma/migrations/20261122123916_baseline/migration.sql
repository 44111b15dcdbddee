-- CreateEnum
CREATE TYPE "SessionTransport" AS ENUM ('cookie', 'token');

-- CreateEnum
CREATE TYPE "SecurityEventType" AS ENUM ('registered', 'signed_in', 'sign_in_failed', 'password_reset', 'signed_out', 'exported', 'device_verified', 'identity_linked', 'email_verified', 'identity_unlinked', 'account_deleted');

-- CreateEnum
CREATE TYPE "BillingEventState" AS ENUM ('received', 'processed', 'ignored', 'failed');

-- CreateEnum
CREATE TYPE "PushEnvironment" AS ENUM ('production', 'sandbox');

-- CreateEnum
CREATE TYPE "PushDeviceStatus" AS ENUM ('pending', 'active', 'invalid');

-- CreateEnum
CREATE TYPE "PushDeliveryState" AS ENUM ('queued', 'sending', 'sent', 'failed', 'cancelled');

-- CreateTable
CREATE TABLE "Account" (
    "id" UUID NOT NULL,
    "email" TEXT NOT NULL,
    "emailVerifiedAt" TIMESTAMPTZ(3),
    "name" TEXT,
    "image" TEXT,
    "passwordHash" TEXT,
    "sessionEpoch" INTEGER NOT NULL DEFAULT 0,
    "unverifiedExpiresAt" TIMESTAMPTZ(3),
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updatedAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "Account_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "Identity" (
    "id" UUID NOT NULL,
    "accountId" UUID NOT NULL,
    "provider" TEXT NOT NULL,
    "issuer" TEXT,
    "subject" TEXT NOT NULL,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "Identity_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "Session" (
    "id" UUID NOT NULL,
    "accountId" UUID NOT NULL,
    "transport" "SessionTransport" NOT NULL,
    "userAgent" TEXT,
    "deviceName" TEXT,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "authenticatedAt" TIMESTAMPTZ(3) NOT NULL,
    "lastSeenAt" TIMESTAMPTZ(3) NOT NULL,
    "idleExpiresAt" TIMESTAMPTZ(3) NOT NULL,
    "expiresAt" TIMESTAMPTZ(3) NOT NULL,
    "revokedAt" TIMESTAMPTZ(3),
    "reconciledAt" TIMESTAMPTZ(3),

    CONSTRAINT "Session_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "PasswordResetToken" (
    "accountId" UUID NOT NULL,
    "id" UUID NOT NULL,
    "tokenHash" TEXT NOT NULL,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expiresAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "PasswordResetToken_pkey" PRIMARY KEY ("accountId")
);

-- CreateTable
CREATE TABLE "VerificationToken" (
    "id" UUID NOT NULL,
    "tokenHash" TEXT NOT NULL,
    "accountId" UUID NOT NULL,
    "passwordHash" TEXT,
    "name" TEXT,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expiresAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "VerificationToken_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "SecurityEvent" (
    "id" UUID NOT NULL,
    "accountId" UUID NOT NULL,
    "type" "SecurityEventType" NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "network" TEXT,
    "userAgent" TEXT,

    CONSTRAINT "SecurityEvent_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "RecognizedClient" (
    "key" TEXT NOT NULL,
    "accountId" UUID NOT NULL,
    "expiresAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "RecognizedClient_pkey" PRIMARY KEY ("key")
);

-- CreateTable
CREATE TABLE "SignInThrottle" (
    "key" TEXT NOT NULL,
    "failures" INTEGER NOT NULL,
    "blockedUntil" TIMESTAMPTZ(3) NOT NULL,
    "expiresAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "SignInThrottle_pkey" PRIMARY KEY ("key")
);

-- CreateTable
CREATE TABLE "QueuedEmail" (
    "id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "createdAt" TIMESTAMPTZ(3) NOT NULL,
    "nextAttemptAt" TIMESTAMPTZ(3) NOT NULL,
    "expiresAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "QueuedEmail_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "BillingEvent" (
    "id" UUID NOT NULL,
    "provider" TEXT NOT NULL,
    "eventId" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "state" "BillingEventState" NOT NULL DEFAULT 'received',
    "reason" TEXT,
    "environment" TEXT,
    "store" TEXT,
    "originalTransactionId" TEXT,
    "transactionId" TEXT,
    "appUserId" TEXT,
    "appUserIds" TEXT[],
    "transferredFrom" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "occurredAt" TIMESTAMPTZ(3) NOT NULL,
    "purchasedAt" TIMESTAMPTZ(3),
    "receivedAt" TIMESTAMPTZ(3) NOT NULL,
    "processedAt" TIMESTAMPTZ(3),
    "facts" JSONB NOT NULL,
    "payload" JSONB,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "nextAttemptAt" TIMESTAMPTZ(3) NOT NULL DEFAULT (now() + '00:02:00'::interval),
    "purchaseId" UUID,
    "accountId" UUID,

    CONSTRAINT "BillingEvent_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "Purchase" (
    "id" UUID NOT NULL,
    "provider" TEXT NOT NULL,
    "environment" TEXT NOT NULL,
    "store" TEXT NOT NULL,
    "originalTransactionId" TEXT NOT NULL,
    "accountId" UUID,
    "appUserIds" TEXT[],
    "productId" TEXT,
    "pendingProductId" TEXT,
    "entitlementIds" TEXT[],
    "periodType" TEXT,
    "isLifetime" BOOLEAN NOT NULL DEFAULT false,
    "isFamilyShare" BOOLEAN NOT NULL DEFAULT false,
    "isReplaceable" BOOLEAN NOT NULL DEFAULT false,
    "startedAt" TIMESTAMPTZ(3),
    "currentPeriodStartsAt" TIMESTAMPTZ(3),
    "currentPeriodEndsAt" TIMESTAMPTZ(3),
    "gracePeriodEndsAt" TIMESTAMPTZ(3),
    "unsubscribedAt" TIMESTAMPTZ(3),
    "cancelReason" TEXT,
    "billingIssueDetectedAt" TIMESTAMPTZ(3),
    "pausedAt" TIMESTAMPTZ(3),
    "resumesAt" TIMESTAMPTZ(3),
    "endedAt" TIMESTAMPTZ(3),
    "expirationReason" TEXT,
    "refundedAt" TIMESTAMPTZ(3),
    "lastEventAt" TIMESTAMPTZ(3),
    "reconciledAt" TIMESTAMPTZ(3),
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updatedAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "Purchase_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "ReconcileJob" (
    "appUserId" TEXT NOT NULL,
    "nextAttemptAt" TIMESTAMPTZ(3) NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "ReconcileJob_pkey" PRIMARY KEY ("appUserId")
);

-- CreateTable
CREATE TABLE "BillingApiPause" (
    "provider" TEXT NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "BillingApiPause_pkey" PRIMARY KEY ("provider")
);

-- CreateTable
CREATE TABLE "PushDevice" (
    "id" UUID NOT NULL,
    "accountId" UUID NOT NULL,
    "sessionId" UUID,
    "installationId" UUID,
    "environment" "PushEnvironment" NOT NULL,
    "bundleId" TEXT NOT NULL,
    "token" TEXT NOT NULL,
    "status" "PushDeviceStatus" NOT NULL DEFAULT 'pending',
    "invalidReason" TEXT,
    "name" TEXT,
    "model" TEXT,
    "osVersion" TEXT,
    "appVersion" TEXT,
    "locale" TEXT,
    "timeZone" TEXT,
    "keyId" TEXT,
    "publicKey" BYTEA,
    "keyCounter" BIGINT,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "registeredAt" TIMESTAMPTZ(3) NOT NULL,
    "verifiedAt" TIMESTAMPTZ(3),
    "lastSeenAt" TIMESTAMPTZ(3) NOT NULL,
    "lastDeliveredAt" TIMESTAMPTZ(3),

    CONSTRAINT "PushDevice_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "PushChallenge" (
    "id" UUID NOT NULL,
    "deviceId" UUID NOT NULL,
    "value" TEXT NOT NULL,
    "nonceHash" TEXT NOT NULL,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expiresAt" TIMESTAMPTZ(3) NOT NULL,
    "usedAt" TIMESTAMPTZ(3),

    CONSTRAINT "PushChallenge_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "PushDelivery" (
    "id" UUID NOT NULL,
    "eventKey" TEXT NOT NULL,
    "deviceId" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "payload" JSONB NOT NULL,
    "priority" INTEGER NOT NULL,
    "collapseId" TEXT,
    "expiresAt" TIMESTAMPTZ(3) NOT NULL,
    "state" "PushDeliveryState" NOT NULL DEFAULT 'queued',
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "nextAttemptAt" TIMESTAMPTZ(3) NOT NULL,
    "leaseUntil" TIMESTAMPTZ(3),
    "apnsStatus" INTEGER,
    "reason" TEXT,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "sentAt" TIMESTAMPTZ(3),

    CONSTRAINT "PushDelivery_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "PushPause" (
    "environment" "PushEnvironment" NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,
    "reason" TEXT NOT NULL,

    CONSTRAINT "PushPause_pkey" PRIMARY KEY ("environment")
);

-- CreateTable
CREATE TABLE "RateLimit" (
    "key" VARCHAR(255) NOT NULL,
    "points" INTEGER NOT NULL DEFAULT 0,
    "expire" BIGINT,

    CONSTRAINT "RateLimit_pkey" PRIMARY KEY ("key")
);

-- CreateIndex
CREATE UNIQUE INDEX "Account_email_key" ON "Account"("email");

-- CreateIndex
CREATE INDEX "Account_unverified_expiry_idx" ON "Account"("unverifiedExpiresAt") WHERE ("unverifiedExpiresAt" IS NOT NULL);

-- CreateIndex
CREATE INDEX "Identity_accountId_idx" ON "Identity"("accountId");

-- CreateIndex
CREATE UNIQUE INDEX "Identity_issuer_subject_key" ON "Identity"("issuer", "subject");

-- CreateIndex
CREATE INDEX "Session_accountId_createdAt_idx" ON "Session"("accountId", "createdAt");

-- CreateIndex
CREATE INDEX "Session_expiresAt_idx" ON "Session"("expiresAt");

-- CreateIndex
CREATE UNIQUE INDEX "PasswordResetToken_tokenHash_key" ON "PasswordResetToken"("tokenHash");

-- CreateIndex
CREATE INDEX "PasswordResetToken_expiresAt_idx" ON "PasswordResetToken"("expiresAt");

-- CreateIndex
CREATE UNIQUE INDEX "VerificationToken_tokenHash_key" ON "VerificationToken"("tokenHash");

-- CreateIndex
CREATE INDEX "VerificationToken_accountId_idx" ON "VerificationToken"("accountId");

-- CreateIndex
CREATE INDEX "VerificationToken_expiresAt_idx" ON "VerificationToken"("expiresAt");

-- CreateIndex
CREATE INDEX "SecurityEvent_accountId_at_idx" ON "SecurityEvent"("accountId", "at");

-- CreateIndex
CREATE INDEX "SecurityEvent_at_idx" ON "SecurityEvent"("at");

-- CreateIndex
CREATE INDEX "RecognizedClient_accountId_idx" ON "RecognizedClient"("accountId");

-- CreateIndex
CREATE INDEX "RecognizedClient_expiresAt_idx" ON "RecognizedClient"("expiresAt");

-- CreateIndex
CREATE INDEX "SignInThrottle_expiresAt_idx" ON "SignInThrottle"("expiresAt");

-- CreateIndex
CREATE INDEX "QueuedEmail_nextAttemptAt_idx" ON "QueuedEmail"("nextAttemptAt");

-- CreateIndex
CREATE UNIQUE INDEX "QueuedEmail_kind_email_key" ON "QueuedEmail"("kind", "email");

-- CreateIndex
CREATE INDEX "BillingEvent_purchaseId_idx" ON "BillingEvent"("purchaseId");

-- CreateIndex
CREATE INDEX "BillingEvent_accountId_receivedAt_idx" ON "BillingEvent"("accountId", "receivedAt");

-- CreateIndex
CREATE INDEX "BillingEvent_state_receivedAt_idx" ON "BillingEvent"("state", "receivedAt");

-- CreateIndex
CREATE INDEX "BillingEvent_transactionId_idx" ON "BillingEvent"("transactionId");

-- CreateIndex
CREATE INDEX "BillingEvent_received_idx" ON "BillingEvent"("nextAttemptAt") WHERE ("state" = 'received');

-- CreateIndex
CREATE INDEX "BillingEvent_appUserIds_idx" ON "BillingEvent" USING GIN ("appUserIds");

-- CreateIndex
CREATE INDEX "BillingEvent_identity_changes_idx" ON "BillingEvent" USING GIN ("appUserIds") WHERE (type = ANY (ARRAY['TRANSFER'::text, 'SUBSCRIBER_ALIAS'::text, 'PURCHASE_REDEEMED'::text]));

-- CreateIndex
CREATE UNIQUE INDEX "BillingEvent_provider_eventId_key" ON "BillingEvent"("provider", "eventId");

-- CreateIndex
CREATE INDEX "Purchase_accountId_idx" ON "Purchase"("accountId");

-- CreateIndex
CREATE INDEX "Purchase_appUserIds_idx" ON "Purchase" USING GIN ("appUserIds");

-- CreateIndex
CREATE UNIQUE INDEX "Purchase_provider_environment_store_originalTransactionId_key" ON "Purchase"("provider", "environment", "store", "originalTransactionId");

-- CreateIndex
CREATE INDEX "ReconcileJob_nextAttemptAt_idx" ON "ReconcileJob"("nextAttemptAt");

-- CreateIndex
CREATE INDEX "PushDevice_sessionId_idx" ON "PushDevice"("sessionId");

-- CreateIndex
CREATE INDEX "PushDevice_token_idx" ON "PushDevice"("token");

-- CreateIndex
CREATE INDEX "PushDevice_pending_registeredAt_idx" ON "PushDevice"("registeredAt") WHERE ("status" = 'pending');

-- CreateIndex
CREATE UNIQUE INDEX "PushDevice_accountId_environment_bundleId_token_key" ON "PushDevice"("accountId", "environment", "bundleId", "token");

-- CreateIndex
CREATE UNIQUE INDEX "PushDevice_active_token_key" ON "PushDevice"("environment", "bundleId", "token") WHERE ("status" = 'active');

-- CreateIndex
CREATE INDEX "PushChallenge_deviceId_idx" ON "PushChallenge"("deviceId");

-- CreateIndex
CREATE INDEX "PushChallenge_expiresAt_idx" ON "PushChallenge"("expiresAt");

-- CreateIndex
CREATE INDEX "PushDelivery_queued_idx" ON "PushDelivery"("nextAttemptAt") WHERE ("state" = 'queued');

-- CreateIndex
CREATE INDEX "PushDelivery_sending_idx" ON "PushDelivery"("leaseUntil") WHERE ("state" = 'sending');

-- CreateIndex
CREATE UNIQUE INDEX "PushDelivery_deviceId_eventKey_key" ON "PushDelivery"("deviceId", "eventKey");

-- CreateIndex
CREATE INDEX "RateLimit_expire_idx" ON "RateLimit"("expire");

-- AddForeignKey
ALTER TABLE "Identity" ADD CONSTRAINT "Identity_accountId_fkey" FOREIGN KEY ("accountId") REFERENCES "Account"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Session" ADD CONSTRAINT "Session_accountId_fkey" FOREIGN KEY ("accountId") REFERENCES "Account"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "PasswordResetToken" ADD CONSTRAINT "PasswordResetToken_accountId_fkey" FOREIGN KEY ("accountId") REFERENCES "Account"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "VerificationToken" ADD CONSTRAINT "VerificationToken_accountId_fkey" FOREIGN KEY ("accountId") REFERENCES "Account"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "RecognizedClient" ADD CONSTRAINT "RecognizedClient_accountId_fkey" FOREIGN KEY ("accountId") REFERENCES "Account"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "BillingEvent" ADD CONSTRAINT "BillingEvent_purchaseId_fkey" FOREIGN KEY ("purchaseId") REFERENCES "Purchase"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "BillingEvent" ADD CONSTRAINT "BillingEvent_accountId_fkey" FOREIGN KEY ("accountId") REFERENCES "Account"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Purchase" ADD CONSTRAINT "Purchase_accountId_fkey" FOREIGN KEY ("accountId") REFERENCES "Account"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "PushDevice" ADD CONSTRAINT "PushDevice_accountId_fkey" FOREIGN KEY ("accountId") REFERENCES "Account"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "PushDevice" ADD CONSTRAINT "PushDevice_sessionId_fkey" FOREIGN KEY ("sessionId") REFERENCES "Session"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "PushChallenge" ADD CONSTRAINT "PushChallenge_deviceId_fkey" FOREIGN KEY ("deviceId") REFERENCES "PushDevice"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "PushDelivery" ADD CONSTRAINT "PushDelivery_deviceId_fkey" FOREIGN KEY ("deviceId") REFERENCES "PushDevice"("id") ON DELETE CASCADE ON UPDATE CASCADE;
