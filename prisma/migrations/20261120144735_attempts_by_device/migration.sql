-- CreateIndex
CREATE INDEX "attempts_by_device" ON "attempts"("device_id", "id");
