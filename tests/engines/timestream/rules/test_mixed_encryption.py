"""STO016: rejected records under another key."""

from __future__ import annotations

import pytest

from tests.builders import a_measurement, a_profile
from tests.engines.timestream.devops import devops
from tests.engines.timestream.proposals import arguments, commands
from tests.rules.cases import Case, run_rule, with_steps
from tsaudit.engines.timestream.rules.mixed_encryption import mixed_encryption as rule
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Severity


def _rejecting(**settings: str) -> dict[str, object]:
    place = {"MagneticStoreRejectedDataLocation": {"S3Configuration": {"BucketName": "rejected"} | settings}}
    return {"MagneticStoreWriteProperties": {"EnableMagneticStoreWrites": True} | place}


OWN = {"KmsKeyId": "arn:aws:kms:eu-central-1:123456789012:key/metrics"}

CASES = (
    Case(
        breaks=devops(table=_rejecting(EncryptionOption="SSE_KMS", KmsKeyId="payments")),
        keeps=devops(table=_rejecting(EncryptionOption="SSE_KMS", KmsKeyId="aws")),
        subject=Subject("", "devops"),
    ),
)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, ""),
        ({"EncryptionOption": "SSE_S3"}, "S3's own key"),
        ({"EncryptionOption": "SSE_KMS"}, "AWS's key for S3"),
        ({"EncryptionOption": "SSE_KMS", "KmsKeyId": "metrics"}, ""),
        ({"EncryptionOption": "SSE_KMS", "KmsKeyId": OWN["KmsKeyId"]}, ""),
        ({"EncryptionOption": "SSE_KMS", "KmsKeyId": "other"}, "other"),
    ],
)
def test_finding_when_keys_differ(settings: dict[str, str], said: str) -> None:
    place = {"BucketName": "rejected"} | settings if settings else {}
    options = OWN | {f"MagneticStoreRejectedDataLocation.{name}": value for name, value in place.items()}
    tables = [a_measurement("cpu", options=options), a_measurement("mem", options=OWN)]
    findings = with_steps(rule, a_profile(*tables, engine="timestream"))
    assert [f.message for f in findings] == [
        f"The table is encrypted with {OWN['KmsKeyId']}, its rejected records with {said}."
    ] * bool(said)
    if said:
        assert findings[0].evidence[2].value == "mem"
        # Only a key that somebody chose says that another protection was wanted.
        assert findings[0].severity is (Severity.WARNING if said == "other" else Severity.NOTE)
        if said != "other":
            assert findings[0].impact is None
            return
        assert findings[0].impact is not None
        assert findings[0].impact.currency is Currency.MECHANISM
        options = {"BucketName": "rejected", "EncryptionOption": "SSE_KMS", "KmsKeyId": OWN["KmsKeyId"]}
        assert arguments(*commands(findings[0].fix))["MagneticStoreWriteProperties"] == {
            "EnableMagneticStoreWrites": True,
            "MagneticStoreRejectedDataLocation": {"S3Configuration": options},
        }


def test_silence_when_the_key_is_not_known() -> None:
    options = {"MagneticStoreRejectedDataLocation.EncryptionOption": "SSE_S3"}
    assert not run_rule(rule, a_profile(a_measurement(options=options), engine="timestream")).findings
