-- CreateTable
CREATE TABLE "AdoptionCount" (
    "day" DATE NOT NULL,
    "product" TEXT NOT NULL,
    "platform" TEXT NOT NULL,
    "architecture" TEXT NOT NULL,
    "channel" TEXT NOT NULL,
    "version" TEXT NOT NULL,
    "checks" BIGINT NOT NULL DEFAULT 0,
    "offers" BIGINT NOT NULL DEFAULT 0,
    "downloadsStarted" BIGINT NOT NULL DEFAULT 0,
    "downloadsFinished" BIGINT NOT NULL DEFAULT 0,
    "clients" BYTEA,
    "offeredClients" BYTEA,

    CONSTRAINT "AdoptionCount_pkey" PRIMARY KEY ("day","product","platform","architecture","channel","version")
);
