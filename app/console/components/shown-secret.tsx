import { headers } from "next/headers";
import { pageContext } from "@/lib/auth/visitor";
import { forgetShownSecret, readShownSecret } from "@/lib/platform/http/pages/page-cookies";
import { CopyButton } from "../../(web)/components/copy-button";
import { requireOperator } from "../frame/operator";
import { QuietButton } from "./action";
import { OperationForm } from "./operation-form";

const LEAD = "Copy it now. Only its hash is stored, so it cannot be shown again.";

type Props = {
  kind: string;
  title: string;
  lead?: string;
  /** Whether the secret still works. Default: yes. */
  isValid?: (secret: string) => Promise<boolean>;
};

/** A secret that was just created, until the operator has saved it or it stops working. Nothing at other times. */
export async function ShownSecret({ kind, title, lead = LEAD, isValid = async () => true }: Props) {
  const { account } = await requireOperator();
  const secret = await readShownSecret(pageContext(), account.id, kind, await headers());
  if (secret === null || !(await isValid(secret))) return null;
  return (
    <section className="panel secret" aria-label={title}>
      <h2>{title}</h2>
      <p>{lead}</p>
      <code className="secret-value">{secret}</code>
      <p>
        <CopyButton text={secret} name={title} />
      </p>
      <OperationForm operation={forgetShownSecret}>
        <QuietButton>I have saved it</QuietButton>
      </OperationForm>
    </section>
  );
}
