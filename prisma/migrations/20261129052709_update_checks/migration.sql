-- CreateTable
CREATE TABLE "UpdateCheck" (
    "url" TEXT NOT NULL,
    "askedAt" TIMESTAMPTZ(3) NOT NULL,
    "answeredAt" TIMESTAMPTZ(3),
    "news" JSONB,

    CONSTRAINT "UpdateCheck_pkey" PRIMARY KEY ("url")
);
