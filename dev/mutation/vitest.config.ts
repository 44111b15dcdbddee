import path from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const ROOT = path.resolve(import.meta.dirname, "../..");

/** Most changes fail a test of a single case. Those of many random ones take longer, so they are last. */
class SingleCasesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isRandom = ({ moduleId }: TestSpecification) => Number(moduleId.includes(".properties."));
    return (await super.sort(files)).toSorted((a, b) => isRandom(a) - isRandom(b));
  }
}

export default defineConfig({
  root: ROOT,
  resolve: { alias: { "@": ROOT } },
  test: {
    sequence: { sequencer: SingleCasesFirst },
    maxWorkers: 1,
    include: [
      "dev/mutation/loads.test.ts",
      "tests/subscriptions/fold/{fold,fold.properties,ownership,snapshot}.test.ts",
      "tests/subscriptions/providers/order.properties.test.ts",
      "tests/subscriptions/status/status.test.ts",
      "tests/releases/rollouts/decide-next-step.test.ts",
      "tests/releases/selection/{file-types,installed-version,rollout-bucket,select-release,staged-rollout,system-filter,update}.test.ts",
      "tests/push/evidence/{assertion,attestation,p256,verify}.test.ts",
      "tests/auth/api-keys/key-text.test.ts",
      "tests/auth/{access-rules,authentication}.test.ts",
      "tests/auth/authorization-server/authorization-request.test.ts",
      "tests/auth/second-factor/{recovery-codes,totp}.test.ts",
      "tests/http/limits.test.ts",
      "tests/auth/publishers/match-claims.test.ts",
    ],
  },
});
