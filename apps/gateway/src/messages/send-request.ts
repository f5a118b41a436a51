import { isRecord } from '#platform';
import type { Principal } from '#accounts';
import type { NewSend, StoredFile } from '#relay';
import { otherFields, readInput } from '../input/input.pipe.js';
import { knownNames } from '../input/known-names.js';
import { parseInstant } from '../input/instant.js';
import { invalid } from '../problems/problem.js';
import { extraFieldFaults, extraFieldsOf, FILE, restrictedTokenFaults } from './extra-fields.js';
import { SendDto } from './send.dto.js';

const KNOWN = knownNames([...Object.keys(new SendDto()), FILE]);

/**
 * Reads a send request from the fields of a JSON body or form.
 * @param caller who sends: tokens that are restricted to contacts must not use undocumented fields
 * @throws {Problem} that names the invalid fields
 */
export function readSendRequest(
  fields: unknown,
  file: StoredFile | undefined,
  { contactIds }: Pick<Principal, 'contactIds'>,
): NewSend {
  const faultsOf = contactIds === undefined ? extraFieldFaults : restrictedTokenFaults;
  const dto = readInput(SendDto, fields, { otherFieldFaults: (others) => faultsOf(KNOWN, others) });
  const extraFields = extraFieldsOf(otherFields(dto, isRecord(fields) ? fields : {}));
  const { phoneNumber, type, message, fileUrl, reference, metadata } = dto;
  if (message === undefined && file === undefined && fileUrl === undefined) {
    throw invalid({ field: 'message', message: 'is required unless the request has a file or a fileUrl' });
  }
  const [sendAt, expiresAt] = [parseInstant(dto.sendAt), parseInstant(dto.expiresAt)];
  return {
    phoneNumber,
    type,
    ...(message === undefined ? {} : { message }),
    ...(fileUrl === undefined ? {} : { fileUrl }),
    ...(file === undefined ? {} : { file }),
    ...(reference === undefined ? {} : { reference }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(extraFields === undefined ? {} : { extraFields }),
    ...(sendAt === undefined ? {} : { sendAt }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}
