import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest, as parts of their paths. */
const LONGEST = [
  "deploy/",
  "billing/",
  "scripts/accounts",
  "releases/release",
  "web/pages",
  "db/",
  "web/",
  "push/",
  "server/",
];

/** Runs the longest files first, so that no worker is left with one while the others have nothing to do. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const found = LONGEST.findIndex((part) => moduleId.includes(`/e2e/${part}`));
      return found === -1 ? LONGEST.length : found;
    };
    return files.toSorted((a, b) => rank(a) - rank(b));
  }
}
