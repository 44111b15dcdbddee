import { redirect } from "next/navigation";
import { readStepUpMethods } from "@/lib/auth/step-up";
import { confirmPath } from "@/lib/http/pages/own-path";
import { pageContext } from "@/lib/http/pages/visitor";
import { requireVisitor } from "../require-visitor";

/** Returns a visitor who was authenticated a few minutes ago. Others are asked to confirm that it is them first. */
export async function requireFreshVisitor(page: string): ReturnType<typeof requireVisitor> {
  const visitor = await requireVisitor(page);
  const { isFresh } = await readStepUpMethods(pageContext(), visitor);
  return isFresh ? visitor : redirect(confirmPath(page));
}
