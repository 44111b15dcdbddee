-- CreateIndex
CREATE INDEX "Purchase_originalTransactionId_idx" ON "Purchase"("originalTransactionId");
