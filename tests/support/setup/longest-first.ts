import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest, as parts of their paths. */
const LONGEST = [
  // in process
  "project/regexes",
  "tests/backup/",
  "http/server/slow-readers",
  "push/worker/large-queue",
  "webhooks/delivery",
  "auth/sign-in-limits",
  "reconcile/failures",
  "tests/db/",
  // end to end
  "e2e/releases/publishing-guide",
  "e2e/deploy/",
  "e2e/scripts/accounts",
  "e2e/web/pages",
  "e2e/web/reference",
  "e2e/subscriptions/",
  "e2e/db/",
  "e2e/releases/release-",
  "e2e/scripts/example-clients",
  "e2e/web/",
  "e2e/console/",
  "e2e/push/",
  "e2e/server/",
  "e2e/scripts/homeport",
];

/** Runs the longest files first, so that no worker is left with one while the others have nothing to do. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const found = LONGEST.findIndex((part) => moduleId.includes(part));
      return found === -1 ? LONGEST.length : found;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
