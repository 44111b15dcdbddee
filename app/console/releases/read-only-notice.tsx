import type { Context } from "@/lib/context";
import { catalogFileOf } from "@/lib/releases/catalog/catalog";
import { Notice } from "../../(web)/components/notice";

/** Says that the catalog cannot be changed here, if it is at a URL. */
export function ReadOnlyNotice({ config }: Pick<Context, "config">) {
  if (catalogFileOf(config) !== null) return null;
  return (
    <Notice>
      The release catalog is at a URL, so it cannot be changed here: publish a new one there. Rollouts that are under
      way can be halted and resumed.
    </Notice>
  );
}
