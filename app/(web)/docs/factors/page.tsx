import { GroupPage } from "../reference/group-page";

export const metadata = { title: "API for passkeys and second factors" };
export const isStatic = true;

export default function Page() {
  return <GroupPage slug="factors" />;
}
