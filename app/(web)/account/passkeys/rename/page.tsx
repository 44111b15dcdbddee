import { Field } from "../../../components/field";
import { Form } from "../../../components/form";
import { type PageProps, readPage } from "../../../components/page-props";
import { titleOf } from "../../../language/page-language";
import { defineTexts } from "../../../language/texts";
import { AccountStep } from "../../account-step";
import { findOwnPasskey, requireVisitor } from "../../require-visitor";

const TEXTS = defineTexts({
  en: { title: "Rename a passkey", name: "Name" },
  de: { title: "Passkey umbenennen", name: "Name" },
});

export const generateMetadata = titleOf(TEXTS);

export default async function Page(props: PageProps) {
  const visitor = await requireVisitor("/account");
  const { query, flash, texts, common } = await readPage(props, TEXTS);
  const { id } = query;
  const passkey = await findOwnPasskey(visitor, id ?? flash?.values.id);
  return (
    <AccountStep title={texts.title}>
      <Form action="/forms/account/passkey/rename" flash={flash}>
        <input type="hidden" name="id" value={passkey.id} />
        <Field name="name" label={texts.name} required maxLength={64} autoComplete="off" defaultValue={passkey.name} />
        <button type="submit">{common.rename}</button>
      </Form>
    </AccountStep>
  );
}
