import { IsApiKey } from '../devices/device-bodies.js';
import { IsGivenOrAbsent } from '../../http/body-rules.js';

export class EnrolmentBody {
  /** The register's API key. Required when the device has been enrolled before: the stored one was entered for that register. */
  @IsGivenOrAbsent()
  @IsApiKey()
  api_key?: string;
}
