import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A file counts as stored that the object storage has refused",
  file: "lib/platform/adapters/s3.ts",
  search: "if (response.statusCode !== 200) {",
  replace: "if (response.statusCode === 400) {",
};
