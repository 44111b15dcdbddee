import { Field } from "../../../components/field";
import { Form } from "../../../components/form";
import { flashOf, type PageProps, queryOf } from "../../../components/page-props";
import { COMMON } from "../../../language/common-texts";
import { textsOf, titleOf } from "../../../language/page-language";
import { defineTexts } from "../../../language/texts";
import { AccountStep } from "../../account-step";
import { requireVisitor } from "../../require-visitor";
import { findOwnPasskey } from "../find-own-passkey";

const TEXTS = defineTexts({
  en: { title: "Rename a passkey", name: "Name" },
  de: { title: "Passkey umbenennen", name: "Name" },
});

export const generateMetadata = titleOf(TEXTS);

export default async function Page(props: PageProps) {
  const visitor = await requireVisitor("/account");
  const { formErrors, id } = await queryOf(props);
  const flash = await flashOf(formErrors);
  const passkey = await findOwnPasskey(visitor, id ?? flash?.values.id);
  const [texts, common] = [await textsOf(TEXTS), await textsOf(COMMON)];
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
